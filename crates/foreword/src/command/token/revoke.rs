//! Revokes a token for all processes.

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;
use foreword_store::tokens::ApiToken;
use foreword_workspace::workspace::Workspace;
use serde_json::json;

use super::token_json;
use crate::failure::Failure;
use crate::output::{BOLD, Output, styled, when};
use crate::process_context::ProcessContext;
use crate::workspace_store::{WorkspaceStore, now};

const HELP: &str = "see `foreword token list`";

pub(super) fn run(
    named: &str,
    workspace: &Workspace,
    process: &ProcessContext,
    output: &Output,
) -> Result<(), Failure> {
    let stored = WorkspaceStore::open_existing(workspace, process)?;
    let tokens = match &stored {
        Some(stored) => stored.wait(stored.store.tokens())?,
        None => Vec::new(),
    };
    let token = find(named, &tokens)?;
    let Some(stored) = stored else { return Err(unknown(named, &tokens)) };
    let before = token.validity.revoked_at;
    let token = stored.wait(stored.store.revoke_token(&token.id, now(process)))?;
    if output.wants_json() {
        let mut out = token_json(&token);
        out["was_revoked_before"] = json!(before.is_some());
        return output.json(&out);
    }
    let name = styled(BOLD, display_line(&token.name, 80));
    match before {
        Some(at) => {
            output.print(&format!("Token {name} ({}) was already revoked at {}.", token.id, when(at)))
        }
        None => output.print(&format!("Revoked token {name} ({}) of {}.", token.id, token.user)),
    }
}

/// The token with that id or name. If several have the name, the only one that is not revoked.
fn find<'a>(named: &str, tokens: &'a [ApiToken]) -> Result<&'a ApiToken, Failure> {
    if let Some(token) = tokens.iter().find(|token| token.id.as_str() == named) {
        return Ok(token);
    }
    let called: Vec<&ApiToken> = tokens.iter().filter(|token| token.name == named).collect();
    let left: Vec<&ApiToken> =
        called.iter().copied().filter(|token| token.validity.revoked_at.is_none()).collect();
    match (left.as_slice(), called.as_slice()) {
        ([one], _) | ([], [.., one]) => Ok(one),
        ([], []) => Err(unknown(named, tokens)),
        (several, _) => {
            let ids: Vec<&str> = several.iter().map(|token| token.id.as_str()).collect();
            let name = display_line(named, 80);
            let message = format!("{} tokens are called `{name}`", several.len());
            Err(Failure::usage(message, format!("use one of the ids: {}", ids.join(", "))))
        }
    }
}

fn unknown(named: &str, tokens: &[ApiToken]) -> Failure {
    // If the argument is the token itself, don't print it.
    if named.starts_with(foreword_server::auth::credential::PREFIX) {
        return Failure::usage(
            "this is a token: revoke it by its id or name",
            format!("{HELP}, and don't leave tokens in your shell's history"),
        );
    }
    let names = tokens.iter().flat_map(|token| [token.name.as_str(), token.id.as_str()]);
    let help = match did_you_mean(named, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => HELP.to_owned(),
    };
    Failure::failed(format!("unknown token `{}`", display_line(named, 80)), help)
}
