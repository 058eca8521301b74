//! Makes a token useless, whichever process it is shown to next.

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;
use foreword_store::tokens::ApiToken;
use foreword_workspace::workspace::Workspace;
use serde_json::json;

use super::token_json;
use crate::failure::Failure;
use crate::output::{BOLD, Output, styled, when};
use crate::stored::{Stored, now};
use crate::world::World;

const HELP: &str = "see `foreword token list`";

pub(super) fn run(named: &str, workspace: &Workspace, world: &World, output: &Output) -> Result<(), Failure> {
    let stored = Stored::open_existing(workspace, world)?;
    let tokens = match &stored {
        Some(stored) => stored.wait(stored.store.tokens())?,
        None => Vec::new(),
    };
    let token = find(named, &tokens)?;
    let Some(stored) = stored else { return Err(unknown(named, &tokens)) };
    let before = token.validity.revoked_at;
    let token = stored.wait(stored.store.revoke_token(&token.id, now(world)))?;
    if output.wants_json() {
        let mut out = token_json(&token);
        out["was_revoked_before"] = json!(before.is_some());
        return output.json(&out);
    }
    let name = styled(BOLD, display_line(&token.name, 80));
    match before {
        Some(at) => {
            output.print(&format!("Token {name} ({}) was revoked already, at {}.", token.id, when(at)))
        }
        None => {
            output.print(&format!("Token {name} ({}) of {} opens nothing any more.", token.id, token.user))
        }
    }
}

/// The token with that id, or the only one of that name: of several, the only one that was not revoked.
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
            Err(Failure::usage(message, format!("say which by its id: {}", ids.join(", "))))
        }
    }
}

fn unknown(named: &str, tokens: &[ApiToken]) -> Failure {
    // Whoever gives the token itself is not to see it again on a screen.
    if named.starts_with(foreword_server::auth::credential::PREFIX) {
        return Failure::usage(
            "that is a token itself: it is revoked by its id or its name",
            format!("{HELP}, and don't leave tokens in your shell's history"),
        );
    }
    let names = tokens.iter().flat_map(|token| [token.name.as_str(), token.id.as_str()]);
    let help = match did_you_mean(named, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => HELP.to_owned(),
    };
    Failure::failed(format!("there is no token `{}`", display_line(named, 80)), help)
}
