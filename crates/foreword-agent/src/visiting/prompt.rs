//! `prompt_build` and `prompt_explain`: the prompt of an occasion. The owner asks for anybody's; everybody else gets their own,
//! without a word of what is withheld from them.

use std::sync::Arc;

use foreword_prompt::cache_plan::breakpoints;
use foreword_prompt::occasion::Channel;
use foreword_prompt::report::{Report, View};
use foreword_prompt::text::with_thousands;
use foreword_prompt::trust::Trust;
use foreword_workspace::build::Built;
use foreword_workspace::inspect::context_problem;
use foreword_workspace::request::Request;
use serde_json::{Map, Value, json};

use super::Known;
use crate::agent::request;
use crate::building;
use crate::error::AgentError;
use crate::inbound::Occasion;
use crate::prepare::stored_texts;
use crate::shared::Shared;
use crate::tool::ToolOutput;
use crate::whose;

pub(super) async fn build(
    shared: &Shared,
    known: &Known,
    arguments: &Map<String, Value>,
) -> Result<ToolOutput, AgentError> {
    let built = match asked(shared, known, arguments).await? {
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
    Ok(ToolOutput::ours(text))
}

pub(super) async fn explain(
    shared: &Shared,
    known: &Known,
    arguments: &Map<String, Value>,
) -> Result<ToolOutput, AgentError> {
    let built = match asked(shared, known, arguments).await? {
        Ok(built) => built,
        Err(refused) => return Ok(refused),
    };
    // Numbers and texts have a JSON form.
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
    // Numbers and texts have a JSON form.
    ToolOutput::ours(serde_json::to_string_pretty(value).unwrap_or_default())
}

/// The prompt that is asked for, or what is wrong with asking for it.
async fn asked(
    shared: &Shared,
    known: &Known,
    arguments: &Map<String, Value>,
) -> Result<Result<Arc<Built>, ToolOutput>, AgentError> {
    // Whoever is not the owner has no words for another occasion.
    if !known.trust.permits(Trust::Full) {
        return Ok(Ok(of(shared, known.occasion.clone()).await?));
    }
    let context = match arguments.get("context") {
        None => Map::new(),
        Some(Value::Object(context)) => context.clone(),
        Some(_) => {
            let words = "`context` is no object: write it as {\"locale\": \"pt-PT\"}";
            return Ok(Err(ToolOutput::failed(words)));
        }
    };
    let occasion = described(known, arguments);
    let request = asking(shared, occasion).await?;
    let view = whose::snapshot(shared, request.agent.as_deref())?;
    if let Some(problem) = context_problem(&view.config.blueprint, &context) {
        let words = format!("{}: write it as `context: {}`", problem.message, problem.shape);
        return Ok(Err(ToolOutput::failed(words)));
    }
    let request = Request { context: Arc::new(context), ..request };
    Ok(Ok(building::build(shared, request).await?))
}

/// The occasion that the owner's words describe: their own, where they say nothing.
fn described(known: &Known, arguments: &Map<String, Value>) -> Occasion {
    let text = |name: &str| {
        let text = arguments.get(name).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(Arc::<str>::from)
    };
    let (user, channel) = (text("user"), text("channel"));
    let own = known.occasion.clone();
    let somebody_else = user.is_some() || channel.is_some();
    Occasion {
        user: if somebody_else { user } else { own.user },
        channel: if somebody_else { channel.as_deref().map(Channel::new) } else { own.channel },
        situation: text("situation").or(own.situation),
        agent: text("agent").or(own.agent),
        model: text("model").or(own.model),
        ..Occasion::default()
    }
}

/// The prompt of an occasion.
pub(super) async fn of(shared: &Shared, occasion: Occasion) -> Result<Arc<Built>, AgentError> {
    building::build(shared, asking(shared, occasion).await?).await
}

async fn asking(shared: &Shared, occasion: Occasion) -> Result<Request, AgentError> {
    let view = whose::snapshot(shared, occasion.agent.as_deref())?;
    Ok(Request {
        more_tools: shared.outside_tools().specs.clone(),
        stored: stored_texts(shared, &view.config).await?,
        marker: shared.surroundings.random().to_be_bytes(),
        ..request(shared, &occasion)
    })
}
