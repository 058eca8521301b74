//! `foreword_cache`: the cache report, as far as the client may see it.

use foreword_core::id::ConversationId;
use foreword_core::since::since;
use foreword_prompt::trust::Trust;
use serde_json::{Map, Value};

use super::ResolvedClient;
use super::call::{began, tool_call};
use crate::error::AgentError;
use crate::reports::cache_report::CacheReport;
use crate::reports::viewer::Viewer;
use crate::shared::Shared;
use crate::tool::ToolOutput;

const DEFAULT_SINCE: &str = "30d";

pub(super) async fn run(
    shared: &Shared,
    client: &ResolvedClient,
    arguments: &Map<String, Value>,
) -> Result<ToolOutput, AgentError> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::trim);
    let words = text("since").filter(|words| !words.is_empty()).unwrap_or(DEFAULT_SINCE);
    let since = match since(words, &shared.clock_and_rng.now()) {
        Ok(since) => since,
        Err(bad) => return Ok(ToolOutput::failed(bad.to_string())),
    };
    let asked = match text("session_id").filter(|id| !id.is_empty()).map(ConversationId::new).transpose() {
        Ok(asked) => asked,
        Err(bad) => return Ok(ToolOutput::failed(format!("{bad}: take one that foreword_logs shows"))),
    };
    let own = match &asked {
        Some(id) if !client.trust.permits(Trust::Full) => began(shared, client, id.clone()).await?,
        _ => None,
    };
    // Include the most recent events.
    let _ = tokio::time::timeout(crate::shared::LOG_FLUSH_TIMEOUT, shared.events.flush()).await;
    let viewer = Viewer::from(&tool_call(shared, client, own)?);
    let report = CacheReport::visible_to(&viewer, asked, Some(since)).await?;
    // Serialising numbers and strings can't fail.
    let text = serde_json::to_string_pretty(&report).unwrap_or_default();
    // A provider's reason is untrusted text.
    Ok(ToolOutput { from_outside: text.contains("provider_reason"), ..ToolOutput::trusted(text) })
}
