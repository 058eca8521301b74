//! Computes the answer of the offline model. Pure: the same request always gives the same script.

use foreword_core::model::ModelRequest;

use crate::directive::{Malformed, directives};
use crate::directive_script;
use crate::own_turn;
use crate::reply;
use crate::request_state::RequestState;
use crate::script::{AnswerPart, AnswerScript};
use crate::summary;
use crate::text_format::on_one_line;

/// The script of the answer to `request`.
///
/// Depends only on the own text of the last user message: not on its context, on quoted text from outside, or on tool
/// results.
///
/// ```
/// use std::sync::Arc;
/// use foreword_core::message::ContentBlock;
/// use foreword_core::model::{CachePlan, ModelRequest, RequestMessage, RequestRole};
/// use foreword_offline::answer;
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
pub fn answer(request: &ModelRequest) -> AnswerScript {
    let state = RequestState::of(request);
    let said = &state.asked.text;
    if let Some(script) = own_turn::script(&state).filter(|_| !summary::is_asked_for(said)) {
        return skip_begun(script, &state.begun);
    }
    let script = match directives(said) {
        Err(wrong) => AnswerScript::say(complaint(&wrong)),
        Ok(orders) if !orders.is_empty() => directive_script::script(&state, orders),
        Ok(_) if summary::is_asked_for(said) => AnswerScript::say(summary::of(request)),
        Ok(_) => reply::script(&state, said),
    };
    skip_begun(script, &state.begun)
}

fn complaint(wrong: &[Malformed]) -> String {
    let lines = wrong.iter().map(|Malformed { line, why, usage }| {
        let usage = usage.map(|usage| format!(" Usage: `{usage}`")).unwrap_or_default();
        let end = if why.ends_with('?') { "" } else { "." };
        format!("- `{}`: {}{end}{usage}", on_one_line(line, 200), on_one_line(why, 300))
    });
    format!("I did nothing, because I can't follow this:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// Removes the part of the answer that was sent before the stream broke off.
fn skip_begun(mut script: AnswerScript, begun: &str) -> AnswerScript {
    if begun.is_empty() || !script.text().starts_with(begun) {
        return script;
    }
    let mut to_skip = begun.len();
    for piece in &mut script.pieces {
        if let AnswerPart::Text(text) = piece {
            let skipped = to_skip.min(text.len());
            text.replace_range(..skipped, "");
            to_skip -= skipped;
        }
    }
    script.pieces.retain(|piece| !matches!(piece, AnswerPart::Text(text) if text.is_empty()));
    script
}
