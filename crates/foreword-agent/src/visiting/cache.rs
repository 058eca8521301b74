//! `foreword_cache`: what the provider's cache gave, as far as the visitor may see it.

use foreword_core::id::ConversationId;
use foreword_core::since::since;
use foreword_prompt::trust::Trust;
use serde_json::{Map, Value};

use super::Known;
use super::calling::{began, tool_call};
use crate::cache_report::CacheReport;
use crate::error::AgentError;
use crate::shared::Shared;
use crate::tool::ToolOutput;
use crate::viewer::Viewer;

/// How far back is looked if nobody says.
const USUAL: &str = "30d";

pub(super) async fn run(
    shared: &Shared,
    known: &Known,
    arguments: &Map<String, Value>,
) -> Result<ToolOutput, AgentError> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::trim);
    let words = text("since").filter(|words| !words.is_empty()).unwrap_or(USUAL);
    let since = match since(words, &shared.surroundings.now()) {
        Ok(since) => since,
        Err(bad) => return Ok(ToolOutput::failed(bad.to_string())),
    };
    let asked = match text("session_id").filter(|id| !id.is_empty()).map(ConversationId::new).transpose() {
        Ok(asked) => asked,
        Err(bad) => return Ok(ToolOutput::failed(format!("{bad}: take one that foreword_logs shows"))),
    };
    let own = match &asked {
        Some(id) if !known.trust.permits(Trust::Full) => began(shared, known, id.clone()).await?,
        _ => None,
    };
    // What has just happened counts.
    let _ = tokio::time::timeout(crate::shared::LOG_PATIENCE, shared.events.flush()).await;
    let viewer = Viewer::from(&tool_call(shared, known, own)?);
    let report = CacheReport::seen_by(&viewer, asked, Some(since)).await?;
    // Numbers and texts have a JSON form.
    let text = serde_json::to_string_pretty(&report).unwrap_or_default();
    // What a provider gives as its reason is the provider's.
    Ok(ToolOutput { from_outside: text.contains("provider_reason"), ..ToolOutput::ours(text) })
}
