//! Who may set the session instructions, working directory and context of a conversation: the owner, and tokens with the
//! scope `assert`. They become part of a frozen prompt, which no other text may enter.

use foreword_core::api_token::Scope;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::Config;

use super::Caller;
use crate::problem::Problem;

/// Whether the caller may read and change the settings of conversations.
pub(crate) fn has_settings(caller: &Caller, config: &Config) -> bool {
    caller.trust(config) == Trust::Full || caller.scopes().contains(&Scope::Assert)
}

/// Refuses a caller who may not set them.
pub(crate) fn may_set(caller: &Caller, config: &Config) -> Result<(), Problem> {
    if has_settings(caller, config) {
        return Ok(());
    }
    let detail = "only the owner, or a token with the scope `assert`, may set `session_instructions`, `cwd` and `context`";
    Err(Problem::forbidden("may_not_set", detail).help("omit them"))
}
