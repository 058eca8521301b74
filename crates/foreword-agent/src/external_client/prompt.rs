//! `prompt_build` and `prompt_explain`: the prompt of an occasion. The owner may name any user; all others get their
//! own prompt, without a report of withheld layers.

use std::sync::Arc;

use foreword_prompt::cache_plan::breakpoints;
use foreword_prompt::occasion::Channel;
use foreword_prompt::report::{Report, View};
use foreword_prompt::text::with_thousands;
use foreword_prompt::trust::Trust;
use foreword_workspace::build::Built;
use foreword_workspace::check::context_problem;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;
use serde_json::{Map, Value, json};

use super::ResolvedClient;
use crate::conversation::agent_routing;
use crate::conversation::inbound::TurnOrigin;
use crate::error::AgentError;
use crate::prompt::build;
use crate::shared::Shared;
use crate::tool::ToolOutput;
use crate::turn::prepare::stored_texts;

pub(super) async fn build(
    shared: &Shared,
    client: &ResolvedClient,
    arguments: &Map<String, Value>,
) -> Result<ToolOutput, AgentError> {
    let built = match requested(shared, client, arguments).await? {
        Ok(built) => built,
        Err(refused) => return Ok(refused),
    };
    let report = Report::of(&built.prompt, View::Principal);
    if arguments.get("format").and_then(Value::as_str) == Some("json") {
        return Ok(as_json(&report));
    }
    let mut text = built.prompt.text().to_string();
    let (tokens, trust) = (with_thousands(report.tokens.total), report.trust.effective);
    text.push_str(&format!("\n\n[{tokens} tokens, built at `{trust}` trust, {}]", report.fingerprint));
    for warning in &report.warnings {
        text.push_str(&format!("\n[warning: {}]", warning.message));
    }
    Ok(ToolOutput::trusted(text))
}

pub(super) async fn explain(
    shared: &Shared,
    client: &ResolvedClient,
    arguments: &Map<String, Value>,
) -> Result<ToolOutput, AgentError> {
    let built = match requested(shared, client, arguments).await? {
        Ok(built) => built,
        Err(refused) => return Ok(refused),
    };
    // Serialising numbers and strings can't fail.
    let mut explained =
        serde_json::to_value(Report::of(&built.prompt, View::Owner)).unwrap_or_else(|_| json!({}));
    let least = built.model.as_ref().and_then(|model| model.min_cacheable).unwrap_or(0);
    let occasion = &built.occasion;
    explained["blueprint"] = json!(built.prompt.facts.blueprint);
    explained["breakpoints"] = json!(breakpoints(&built.prompt.frozen, least));
    explained["occasion"] = json!({
        "user": occasion.user, "channel": occasion.channel.as_ref().map(Channel::as_str),
        "situation": occasion.situation, "agent": occasion.agent, "model": occasion.model,
    });
    Ok(as_json(&explained))
}

fn as_json(value: &impl serde::Serialize) -> ToolOutput {
    // Serialising numbers and strings can't fail.
    ToolOutput::trusted(serde_json::to_string_pretty(value).unwrap_or_default())
}

/// The requested prompt, or an error for the client.
async fn requested(
    shared: &Shared,
    client: &ResolvedClient,
    arguments: &Map<String, Value>,
) -> Result<Result<Arc<Built>, ToolOutput>, AgentError> {
    // Only the owner may describe another occasion.
    if !client.trust.permits(Trust::Full) {
        return Ok(Ok(of(shared, client.occasion.clone()).await?));
    }
    let context = match arguments.get("context") {
        None => Map::new(),
        Some(Value::Object(context)) => context.clone(),
        Some(_) => {
            let words = "`context` is not an object: write it as {\"locale\": \"pt-PT\"}";
            return Ok(Err(ToolOutput::failed(words)));
        }
    };
    let occasion = described(client, arguments);
    let request = request(shared, occasion).await?;
    let view = agent_routing::snapshot(shared, request.speaker.agent.as_deref())?;
    if let Some(problem) = context_problem(&view.config.blueprint, &context) {
        let words = format!("{}: write it as `context: {}`", problem.message, problem.shape);
        return Ok(Err(ToolOutput::failed(words)));
    }
    let request = Request { context: Arc::new(context.into()), ..request };
    Ok(Ok(build::build(shared, request).await?))
}

/// The occasion that the arguments describe; missing values default to the owner's own occasion.
fn described(client: &ResolvedClient, arguments: &Map<String, Value>) -> TurnOrigin {
    let text = |name: &str| {
        let text = arguments.get(name).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(Arc::<str>::from)
    };
    let (user, channel) = (text("user"), text("channel"));
    let own = client.occasion.clone();
    let somebody_else = user.is_some() || channel.is_some();
    TurnOrigin {
        speaker: Speaker {
            user: if somebody_else { user } else { own.speaker.user },
            channel: if somebody_else { channel.as_deref().map(Channel::new) } else { own.speaker.channel },
            situation: text("situation").or(own.speaker.situation),
            agent: text("agent").or(own.speaker.agent),
            model: text("model").or(own.speaker.model),
            ..Speaker::default()
        },
        ..TurnOrigin::default()
    }
}

/// The prompt of an occasion.
pub(super) async fn of(shared: &Shared, occasion: TurnOrigin) -> Result<Arc<Built>, AgentError> {
    build::build(shared, request(shared, occasion).await?).await
}

async fn request(shared: &Shared, occasion: TurnOrigin) -> Result<Request, AgentError> {
    let view = agent_routing::snapshot(shared, occasion.speaker.agent.as_deref())?;
    Ok(Request {
        more_tools: shared.outside_tools().specs.clone(),
        stored: stored_texts(shared, &view.config).await?,
        marker: shared.clock_and_rng.random().to_be_bytes(),
        ..occasion.request(shared)
    })
}
