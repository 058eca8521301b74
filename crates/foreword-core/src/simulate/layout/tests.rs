//! The three layouts of a hand-built prompt, in which every layer is a line of words.

use std::sync::Arc;

use foreword_prompt::assemble::{FrozenMaterial, Materials, Provenance, Settings, TurnMaterial, assemble};
use foreword_prompt::blueprint::builtin;
use foreword_prompt::budget::TokenBudget;
use foreword_prompt::content::Content;
use foreword_prompt::layer::Stability;
use foreword_prompt::plan::{FileRule, Plan, PlanFor};
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::trust::{Trust, TrustDecision};

use super::*;

/// The workspace file of a layer, if it has one.
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
    let budget = TokenBudget { tokens: 30_000, window: None, history: 0 };
    let settings = Settings { blueprint: "gateway", budget, counter: Tokenizer::Estimate.get(), placement };
    assemble(&plan, materials, settings).unwrap()
}

fn layout(way: SendStrategy, placement: TurnPlacement) -> Layout {
    let files = ["SOUL.md", "MEMORY.md"].map(|path| WholeFile { path: path.to_owned(), tokens: 700 });
    let prompt = gateway(placement);
    MeasuredPrompt { prompt: &prompt, tools: 900, files: &files, template_has_clock: false }.layout(way)
}

fn names(layers: &[SizedLayer]) -> String {
    layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn turn_layers_are_sent_in_messages() {
    let layout = layout(SendStrategy::FreezeThenAppend, TurnPlacement::Message);
    assert_eq!(
        names(&layout.system),
        "precedence soul behaviour workspace/TOOLS.md tools skills user/USER.md channel situation"
    );
    assert_eq!(names(&layout.announced), "runtime memory");
    assert_eq!(
        layout.announced.iter().map(|layer| layer.changes).collect::<Vec<_>>(),
        [ChangeTrigger::EveryMinute, ChangeTrigger::WithHistory]
    );
    assert_eq!(layout.files, 6);
    assert_eq!(layout.head_tokens(), 900 + gateway(TurnPlacement::Message).frozen.tokens);
}

#[test]
fn turn_context_is_last_in_the_system_prompt() {
    let layout = layout(SendStrategy::FreezeThenAppend, TurnPlacement::System);
    assert!(names(&layout.system).ends_with("situation runtime memory"));
    assert_eq!(layout.announced_tokens(), 0);
}

#[test]
fn seed_order_puts_the_clock_before_situation_and_memory() {
    let layout = layout(SendStrategy::RebuildEachTurn, TurnPlacement::Message);
    assert_eq!(
        names(&layout.system),
        "precedence soul behaviour user/USER.md workspace/TOOLS.md channel tools skills runtime situation memory"
    );
    let frozen = super::tests::layout(SendStrategy::FreezeThenAppend, TurnPlacement::Message);
    assert_eq!(layout.head_tokens(), frozen.head_tokens() + frozen.announced_tokens());
}

#[test]
fn full_injection_includes_every_file_without_a_menu() {
    let layout = layout(SendStrategy::InjectEverything, TurnPlacement::Message);
    assert_eq!(
        names(&layout.system),
        "precedence tools skills soul behaviour workspace/TOOLS.md user/USER.md channel situation MEMORY.md runtime"
    );
    let whole = layout.system.iter().filter(|layer| layer.tokens == 700).map(|layer| layer.name.as_str());
    assert_eq!(whole.collect::<Vec<_>>(), ["soul", "MEMORY.md"]);
    assert_eq!(layout.files, 6);
}

#[test]
fn template_with_a_clock_changes_every_minute() {
    let prompt = gateway(TurnPlacement::Message);
    let mut prompt = prompt;
    let frozen = Arc::make_mut(&mut prompt.frozen);
    let template = Source::Template { path: None, dialect: None };
    frozen.segments[0].layer = Arc::new(Layer { source: template, ..(*frozen.segments[0].layer).clone() });
    let changes = |template_has_clock| {
        let measured = MeasuredPrompt { prompt: &prompt, tools: 0, files: &[], template_has_clock };
        measured.layout(SendStrategy::FreezeThenAppend).system[0].changes
    };
    assert_eq!((changes(false), changes(true)), (ChangeTrigger::Never, ChangeTrigger::EveryMinute));
}
