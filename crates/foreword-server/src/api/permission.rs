//! Permission checks shared by the handlers. A resource that the caller may not see is not found.

use foreword_core::api_token::Scope;
use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::Config;

use crate::app::App;
use crate::auth::{Caller, VisibleConversation, find_visible};
use crate::problem::Problem;

/// Refuses a token with none of `scopes`.
pub(crate) fn any_of(caller: &Caller, scopes: &[Scope]) -> Result<(), Problem> {
    if scopes.iter().any(|scope| caller.scopes().contains(scope)) {
        return Ok(());
    }
    let words: Vec<String> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
    let detail = format!("this token has none of the scopes {}", words.join(", "));
    let help = "create one with `foreword token create --scope …`";
    Err(Problem::forbidden("scope_missing", detail).help(help))
}

/// Refuses a token without a read scope.
pub(crate) fn reads(caller: &Caller) -> Result<(), Problem> {
    any_of(caller, &[Scope::Chat, Scope::Observe])
}

pub(crate) fn is_owner(caller: &Caller, config: &Config) -> bool {
    caller.trust(config) == Trust::Full
}

/// Refuses everyone but the owner, and tokens without `observe` or `admin`.
pub(crate) fn owner_reads(caller: &Caller, config: &Config) -> Result<(), Problem> {
    any_of(caller, &[Scope::Observe, Scope::Admin])?;
    if is_owner(caller, config) {
        return Ok(());
    }
    Err(Problem::forbidden("owner_only", format!("`{}` is not the owner here", caller.user())))
}

/// Refuses an agent that is not configured.
pub(crate) fn is_an_agent(config: &Config, agent: Option<&str>) -> Result<(), Problem> {
    match agent {
        Some(agent) if config.roster.find(agent).is_none() => {
            Err(Problem::not_found("agent", agent).help(format!("there are {}", config.roster.names())))
        }
        _ => Ok(()),
    }
}

/// The conversation, if the caller may see it.
pub(crate) async fn conversation(
    app: &App,
    caller: &Caller,
    id: &str,
) -> Result<VisibleConversation, Problem> {
    reads(caller)?;
    find_visible(app, caller, &conversation_id(id)?).await
}

/// Parses an id.
pub(crate) fn conversation_id(text: &str) -> Result<ConversationId, Problem> {
    ConversationId::new(text).map_err(|error| Problem::bad_request("invalid_id", error.to_string()))
}
