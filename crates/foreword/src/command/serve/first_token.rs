//! The token of a first start: a server that nobody can open is of no use, and one that anybody can open is worse. Shown once,
//! on standard error, and written nowhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_core::api_token::Scope;
use foreword_server::auth::issuing::{BadWish, TokenWish};
use serde_json::json;

use super::super::token::{failure, refused};
use crate::failure::Failure;
use crate::output::{BOLD, Output, styled};
use crate::running::Running;
use crate::token_use;

/// What it is called.
const NAME: &str = "first";
/// What it opens: everything the owner does over HTTP, but not speaking for others.
const SCOPES: [Scope; 3] = [Scope::Chat, Scope::Observe, Scope::Admin];

/// Makes a token for the owner and shows it, if there is none that opens anything.
pub(super) async fn if_there_is_none(running: &Running, url: &str, output: &Output) -> Result<(), Failure> {
    let surroundings: Arc<dyn Surroundings> = Arc::new(Machine);
    let now = surroundings.timestamp();
    if running.store.tokens().await?.iter().any(|token| token.validity.is_usable(now)) {
        return Ok(());
    }
    let config = Arc::clone(&running.workspace.snapshot().config);
    let scopes = BTreeSet::from(SCOPES);
    let wish = TokenWish { name: Some(NAME.to_owned()), scopes, ..TokenWish::default() };
    let grant = match wish.granted(&config, &surroundings.now()) {
        Ok(grant) => grant,
        Err(BadWish::NoOwner) => {
            output.warn(
                "there is no token yet, and nobody has `full` trust: `foreword token create --user NAME`",
            );
            return Ok(());
        }
        Err(bad) => return Err(refused(&bad)),
    };
    let (token, credential) = grant.issue(&running.store, &surroundings).await.map_err(failure)?;
    if output.wants_json() {
        let out = json!({ "type": "first_token", "id": token.id, "user": token.user, "token": credential.reveal() });
        output.say(&out.to_string());
        return Ok(());
    }
    let opens = token_use::opens(&token, &config);
    output.say(&format!(
        "\nThere was no token yet, so here is one. It is shown this once: only its hash is kept.\n{opens}\n\n  \
         {}\n\n{}\n\nFor others: `foreword token create --user NAME`.\n",
        styled(BOLD, format!("export FOREWORD_TOKEN={}", credential.reveal())),
        token_use::lines(&token, url),
    ));
    Ok(())
}
