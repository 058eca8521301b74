//! Creates a token on the first start: without one the server would be unusable. It is shown once on standard error and
//! stored only as a hash.

use std::collections::BTreeSet;
use std::sync::Arc;

use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_core::api_token::Scope;
use foreword_server::auth::token_spec::{TokenSpec, TokenSpecError};
use serde_json::json;

use super::super::token::{failure, refused};
use crate::failure::Failure;
use crate::output::{BOLD, Output, styled};
use crate::running_agent::RunningAgent;
use crate::token_use;

const TOKEN_NAME: &str = "first";
/// Everything the owner does over HTTP, except asserting other users.
const SCOPES: [Scope; 3] = [Scope::Chat, Scope::Observe, Scope::Admin];

/// Creates a token for the owner and shows it, unless a valid one exists.
pub(super) async fn create_if_missing(
    running: &RunningAgent,
    url: &str,
    output: &Output,
) -> Result<(), Failure> {
    let clock_and_rng: Arc<dyn ClockAndRng> = Arc::new(Machine);
    let now = clock_and_rng.timestamp();
    if running.store.tokens().await?.iter().any(|token| token.validity.is_usable(now)) {
        return Ok(());
    }
    let config = Arc::clone(&running.workspace.snapshot().config);
    let scopes = BTreeSet::from(SCOPES);
    let wish = TokenSpec { name: Some(TOKEN_NAME.to_owned()), scopes, ..TokenSpec::default() };
    let grant = match wish.grant(&config, &clock_and_rng.now()) {
        Ok(grant) => grant,
        Err(TokenSpecError::NoOwner) => {
            output.warn(
                "there is no token yet, and no user has `full` trust: `foreword token create --user NAME`",
            );
            return Ok(());
        }
        Err(bad) => return Err(refused(&bad)),
    };
    let (token, credential) = grant.issue(&running.store, &clock_and_rng).await.map_err(failure)?;
    if output.wants_json() {
        let out = json!({ "type": "first_token", "id": token.id, "user": token.user, "token": credential.reveal() });
        output.print_stderr(&out.to_string());
        return Ok(());
    }
    let opens = token_use::access_text(&token, &config);
    output.print_stderr(&format!(
        "\nCreated the first token. It is shown only once, since only its hash is stored.\n{opens}\n\n  \
         {}\n\n{}\n\nFor other users: `foreword token create --user NAME`.\n",
        styled(BOLD, format!("export FOREWORD_TOKEN={}", credential.reveal())),
        token_use::examples(&token, url),
    ));
    Ok(())
}
