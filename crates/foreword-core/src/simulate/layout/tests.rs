//! The three layouts of one prompt, which is put together by hand: every layer is a line of words.

use std::sync::Arc;

use foreword_prompt::assemble::{FrozenMaterial, Materials, Provenance, Settings, TurnMaterial, assemble};
use foreword_prompt::blueprint::builtin;
use foreword_prompt::budget::Budget;
use foreword_prompt::content::Content;
use foreword_prompt::layer::Stability;
use foreword_prompt::plan::{FileRule, Plan, PlanFor};
use foreword_prompt::tokens::Counter;
use foreword_prompt::trust::{Trust, TrustDecision};

use super::*;

/// Where the text of a layer is from, as far as it is a file of the workspace.
fn file_of(layer: &Layer) -> Option<String> {
    match &layer.source {
        Source::File(file) => Some(file.path.clone()),
        Source::Overlay => Some("prompts/group-rules.md".to_owned()),
        _ => None,
    }
}

fn gateway(placement: TurnPlacement) -> Prompt {
    let blueprint = builtin::blueprint("gateway").unwrap();
    let rule = |path: &str, per_user| FileRule { path: path.to_owned(), trust: Trust::Full, per_user };
    let files =
        [rule("SOUL.md", false), rule("AGENTS.md", false), rule("TOOLS.md", false), rule("USER.md", true)];
    let trust = TrustDecision::new(Trust::Full, Trust::Full);
    let fills = [("soul", "Ada"), ("user", "bob"), ("family", "signal")];
    let plan = Plan::new(&blueprint, PlanFor { trust, files: &files, fills: &fills, window: None });
    let mut materials = Materials::default();
    for layer in plan.layers.iter().cloned() {
        let text: Arc<str> = format!("Words of the layer {}.", layer.id).into();
        let origin = file_of(&layer);
        let kind = if origin.is_some() { "file" } else { layer.source.kind() };
        let origin = origin.map(Into::into);
        let from = Provenance { kind, origin, read_path: None, description: "".into() };
        let content = Content::of_block(&text);
        if layer.stability == Stability::Turn {
            materials.turn.push(TurnMaterial { layer, content: content.into(), from });
        } else {
            materials.frozen.push(FrozenMaterial { layer, content, from });
        }
    }
    let budget = Budget { tokens: 30_000, window: None, history: 0 };
    let settings = Settings { blueprint: "gateway", budget, counter: Counter::Estimate.get(), placement };
    assemble(&plan, materials, settings).unwrap()
}

fn layout(way: Way, placement: TurnPlacement) -> Layout {
    let files = ["SOUL.md", "MEMORY.md"].map(|path| WholeFile { path: path.to_owned(), tokens: 700 });
    let prompt = gateway(placement);
    Measured { prompt: &prompt, tools: 900, files: &files, template_has_clock: false }.layout(way)
}

fn names(layers: &[SizedLayer]) -> String {
    layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn frozen_layers_are_the_system_prompt_and_the_turns_are_told() {
    let layout = layout(Way::FreezeThenAppend, TurnPlacement::Message);
    assert_eq!(
        names(&layout.system),
        "precedence soul behaviour workspace/TOOLS.md tools skills user/USER.md channel situation"
    );
    assert_eq!(names(&layout.told), "runtime memory");
    assert_eq!(
        layout.told.iter().map(|layer| layer.changes).collect::<Vec<_>>(),
        [Changes::EveryMinute, Changes::WithHistory]
    );
    assert_eq!(layout.files, 6);
    assert_eq!(layout.head_tokens(), 900 + gateway(TurnPlacement::Message).frozen.tokens);
}

#[test]
fn where_the_turns_context_goes_into_the_system_prompt_it_stands_last_there() {
    let layout = layout(Way::FreezeThenAppend, TurnPlacement::System);
    assert!(names(&layout.system).ends_with("situation runtime memory"));
    assert_eq!(layout.told_tokens(), 0);
}

#[test]
fn the_seeds_order_has_the_clock_before_situation_and_memory() {
    let layout = layout(Way::RebuildEachTurn, TurnPlacement::Message);
    assert_eq!(
        names(&layout.system),
        "precedence soul behaviour user/USER.md workspace/TOOLS.md channel tools skills runtime situation memory"
    );
    let frozen = super::tests::layout(Way::FreezeThenAppend, TurnPlacement::Message);
    assert_eq!(layout.head_tokens(), frozen.head_tokens() + frozen.told_tokens());
}

#[test]
fn everything_injected_has_every_file_whole_and_no_menu() {
    let layout = layout(Way::InjectEverything, TurnPlacement::Message);
    assert_eq!(
        names(&layout.system),
        "precedence tools skills soul behaviour workspace/TOOLS.md user/USER.md channel situation MEMORY.md runtime"
    );
    let whole = layout.system.iter().filter(|layer| layer.tokens == 700).map(|layer| layer.name.as_str());
    assert_eq!(whole.collect::<Vec<_>>(), ["soul", "MEMORY.md"]);
    assert_eq!(layout.files, 6);
}

#[test]
fn a_template_that_shows_a_clock_changes_every_minute() {
    let prompt = gateway(TurnPlacement::Message);
    let mut prompt = prompt;
    let frozen = Arc::make_mut(&mut prompt.frozen);
    let template = Source::Template { path: None, dialect: None };
    frozen.segments[0].layer = Arc::new(Layer { source: template, ..(*frozen.segments[0].layer).clone() });
    let changes = |template_has_clock| {
        let measured = Measured { prompt: &prompt, tools: 0, files: &[], template_has_clock };
        measured.layout(Way::FreezeThenAppend).system[0].changes
    };
    assert_eq!((changes(false), changes(true)), (Changes::Never, Changes::EveryMinute));
}
