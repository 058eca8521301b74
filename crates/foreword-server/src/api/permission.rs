//! Who may see and do what, asked the same way by all routes. Whoever may not see a thing is told that there is none.

use foreword_core::api_token::Scope;
use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::Config;

use crate::app::App;
use crate::auth::{Caller, Seen, may_see};
use crate::problem::Problem;

/// Refuses a token that opens none of `scopes`.
pub(crate) fn any_of(caller: &Caller, scopes: &[Scope]) -> Result<(), Problem> {
    if scopes.iter().any(|scope| caller.scopes().contains(scope)) {
        return Ok(());
    }
    let words: Vec<String> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
    let detail = format!("this token opens none of {}", words.join(", "));
    let help = "make one with `foreword token create --scope …`";
    Err(Problem::forbidden("scope_missing", detail).help(help))
}

/// Refuses a token that reads nothing.
pub(crate) fn reads(caller: &Caller) -> Result<(), Problem> {
    any_of(caller, &[Scope::Chat, Scope::Observe])
}

/// Whether it is the owner.
pub(crate) fn is_owner(caller: &Caller, config: &Config) -> bool {
    caller.trust(config) == Trust::Full
}

/// Refuses everybody but the owner, with a token that looks or changes.
pub(crate) fn owner_reads(caller: &Caller, config: &Config) -> Result<(), Problem> {
    any_of(caller, &[Scope::Observe, Scope::Admin])?;
    if is_owner(caller, config) {
        return Ok(());
    }
    Err(Problem::forbidden("owner_only", format!("`{}` is not the owner here", caller.user())))
}

/// Refuses an agent that is not configured. What files are called after is no agent.
pub(crate) fn is_an_agent(config: &Config, agent: Option<&str>) -> Result<(), Problem> {
    match agent {
        Some(agent) if config.roster.find(agent).is_none() => {
            Err(Problem::not_found("agent", agent).help(format!("there are {}", config.roster.names())))
        }
        _ => Ok(()),
    }
}

/// The conversation of that id, if there is one that this caller may see.
pub(crate) async fn conversation(app: &App, caller: &Caller, id: &str) -> Result<Seen, Problem> {
    reads(caller)?;
    may_see(app, caller, &conversation_id(id)?).await
}

/// An id of a path.
pub(crate) fn conversation_id(text: &str) -> Result<ConversationId, Problem> {
    ConversationId::new(text).map_err(|error| Problem::bad_request("bad_id", error.to_string()))
}
