//! `foreword token`: API tokens for the HTTP interface. A token is printed only when it is created.

mod list;
mod revoke;

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_core::api_token::TokenLimits;
use foreword_server::auth::token_spec::{TokenSpec, TokenSpecError};
use foreword_server::error::ServerError;
use foreword_store::tokens::ApiToken;
use foreword_workspace::workspace::Workspace;
use serde_json::{Value, json};

use crate::cli::tokens::{CreateArgs, TokenCommand};
use crate::failure::Failure;
use crate::output::{BOLD, DIM, GREEN, Output, styled};
use crate::process_context::ProcessContext;
use crate::token_use;
use crate::workspace_store::WorkspaceStore;

pub(crate) fn run(
    command: &TokenCommand,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    match command {
        TokenCommand::Create(args) => create(args, &workspace, process, output)?,
        TokenCommand::List => list::run(&workspace, process, output)?,
        TokenCommand::Revoke { token } => revoke::run(token, &workspace, process, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn create(
    args: &CreateArgs,
    workspace: &Workspace,
    process: &ProcessContext,
    output: &Output,
) -> Result<(), Failure> {
    let config = Arc::clone(&workspace.snapshot().config);
    // A rejected token creates no database.
    let grant = wish(args).grant(&config, &process.now).map_err(|bad| refused(&bad))?;
    let stored = WorkspaceStore::open(workspace, process)?;
    let clock_and_rng: Arc<dyn ClockAndRng> = Arc::new(Machine);
    let issued = stored.wait(grant.issue(&stored.store, &clock_and_rng));
    let (token, credential) = issued.map_err(failure)?;
    if output.wants_json() {
        let mut out = token_json(&token);
        out["token"] = json!(credential.reveal());
        return output.json(&out);
    }
    output.print(credential.reveal())?;
    let url = token_use::url(config.server.listen, &config.server);
    let made = format!("{} token {}", styled(GREEN, "Created"), styled(BOLD, &token.name));
    let id = styled(DIM, format!("({})", token.id));
    output.print_stderr(&format!("{made} {id}. {}", token_use::access_text(&token, &config)));
    output.print_stderr(
        "It is shown only once, since only its hash is stored. With the token as FOREWORD_TOKEN in the environment:",
    );
    output.print_stderr(&token_use::examples(&token, &url));
    Ok(())
}

fn wish(args: &CreateArgs) -> TokenSpec {
    TokenSpec {
        name: args.name.clone(),
        user: args.user.clone(),
        scopes: args.scope.iter().copied().collect(),
        mode: args.mode,
        expires: args.expires.clone(),
        limits: TokenLimits {
            requests_per_minute: args.requests_per_minute,
            concurrent_turns: args.concurrent_turns,
            body_mb: args.body_mb,
            usd_per_day: args.usd_per_day,
        },
    }
}

pub(super) fn refused(bad: &TokenSpecError) -> Failure {
    Failure::usage(bad.to_string(), bad.help())
}

pub(super) fn failure(error: ServerError) -> Failure {
    match error {
        ServerError::Store(error) => Failure::Store(error),
        other => Failure::failed(other.to_string(), other.help()),
    }
}

fn token_json(token: &ApiToken) -> Value {
    json!({
        "id": token.id, "name": token.name, "user": token.user, "scopes": scope_names(token), "mode": token.mode.map(|mode| mode.as_str()),
        "created_at": token.created_at, "last_used_at": token.last_used_at,
        "expires_at": token.validity.expires_at, "revoked_at": token.validity.revoked_at, "limits": token.limits,
    })
}

fn scope_names(token: &ApiToken) -> Vec<&'static str> {
    token.scopes.iter().map(|scope| scope.as_str()).collect()
}
