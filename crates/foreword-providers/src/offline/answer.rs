//! Decides what the offline model answers. Pure: the same request always gives the same script.

use foreword_core::model::ModelRequest;

use super::directed;
use super::directive::{Malformed, directives};
use super::own_life;
use super::reading::Reading;
use super::reply;
use super::script::{Piece, Script};
use super::shown::on_one_line;
use super::summary;

/// What the offline model answers to `request`.
///
/// Only the last user's own words decide: not the context at the head of their message, not text from outside, not
/// what a tool gave.
///
/// ```
/// use std::sync::Arc;
/// use foreword_core::message::ContentBlock;
/// use foreword_core::model::{CachePlan, ModelRequest, RequestMessage, RequestRole};
/// use foreword_providers::offline::answer;
///
/// let asked = "!tool memory_search {\"query\":\"carol\"}\n!tool foreword_status";
/// let request = ModelRequest {
///     model: "offline/echo".parse()?,
///     tools: Arc::new([]),
///     system: Vec::new(),
///     messages: vec![RequestMessage { role: RequestRole::User, content: vec![ContentBlock::text(asked)] }],
///     max_output: None,
///     cache: CachePlan::NONE,
/// };
/// let script = answer(&request);
/// let calls: Vec<String> = script.calls().map(|(name, input)| format!("{name} {input}")).collect();
/// assert_eq!(calls, [r#"memory_search {"query":"carol"}"#, "foreword_status {}"]);
/// # Ok::<(), foreword_core::models::InvalidModelId>(())
/// ```
#[must_use]
pub fn answer(request: &ModelRequest) -> Script {
    let reading = Reading::of(request);
    let said = &reading.asked.words;
    if let Some(script) = own_life::script(&reading).filter(|_| !summary::is_asked_for(said)) {
        return go_on(script, &reading.begun);
    }
    let script = match directives(said) {
        Err(wrong) => Script::say(complaint(&wrong)),
        Ok(orders) if !orders.is_empty() => directed::script(&reading, orders),
        Ok(_) if summary::is_asked_for(said) => Script::say(summary::of(request)),
        Ok(_) => reply::script(&reading, said),
    };
    go_on(script, &reading.begun)
}

fn complaint(wrong: &[Malformed]) -> String {
    let lines = wrong.iter().map(|Malformed { line, why, usage }| {
        let usage = usage.map(|usage| format!(" Usage: `{usage}`")).unwrap_or_default();
        let end = if why.ends_with('?') { "" } else { "." };
        format!("- `{}`: {}{end}{usage}", on_one_line(line, 200), on_one_line(why, 300))
    });
    format!("I did nothing, because I can't obey this:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// What is left of an answer whose beginning was said before it broke off.
fn go_on(mut script: Script, begun: &str) -> Script {
    if begun.is_empty() || !script.text().starts_with(begun) {
        return script;
    }
    let mut to_skip = begun.len();
    for piece in &mut script.pieces {
        if let Piece::Text(text) = piece {
            let skipped = to_skip.min(text.len());
            text.replace_range(..skipped, "");
            to_skip -= skipped;
        }
    }
    script.pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
    script
}
