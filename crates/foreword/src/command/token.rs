//! `foreword token`: what opens the HTTP interface. A token is printed when it is made, and never again.

mod list;
mod revoke;

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_core::api_token::TokenLimits;
use foreword_server::auth::issuing::{BadWish, TokenWish};
use foreword_server::error::ServerError;
use foreword_store::tokens::ApiToken;
use foreword_workspace::workspace::Workspace;
use serde_json::{Value, json};

use crate::cli::tokens::{CreateArgs, TokenCommand};
use crate::failure::Failure;
use crate::output::{BOLD, DIM, GREEN, Output, styled};
use crate::stored::Stored;
use crate::token_use;
use crate::world::World;

pub(crate) fn run(command: &TokenCommand, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = world.open()?;
    match command {
        TokenCommand::Create(args) => create(args, &workspace, world, output)?,
        TokenCommand::List => list::run(&workspace, world, output)?,
        TokenCommand::Revoke { token } => revoke::run(token, &workspace, world, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn create(args: &CreateArgs, workspace: &Workspace, world: &World, output: &Output) -> Result<(), Failure> {
    let config = Arc::clone(&workspace.snapshot().config);
    // What is refused makes no database.
    let grant = wish(args).granted(&config, &world.now).map_err(|bad| refused(&bad))?;
    let stored = Stored::open(workspace, world)?;
    let surroundings: Arc<dyn Surroundings> = Arc::new(Machine);
    let issued = stored.wait(grant.issue(&stored.store, &surroundings));
    let (token, credential) = issued.map_err(failure)?;
    if output.wants_json() {
        let mut out = token_json(&token);
        out["token"] = json!(credential.reveal());
        return output.json(&out);
    }
    output.print(credential.reveal())?;
    let url = token_use::url(config.server.listen, &config.server);
    let made = format!("{} token {}", styled(GREEN, "Made"), styled(BOLD, &token.name));
    let id = styled(DIM, format!("({})", token.id));
    output.say(&format!("{made} {id}. {}", token_use::opens(&token, &config)));
    output.say(
        "It is shown this once: only its hash is kept. As FOREWORD_TOKEN in the environment it is used so:",
    );
    output.say(&token_use::lines(&token, &url));
    Ok(())
}

fn wish(args: &CreateArgs) -> TokenWish {
    TokenWish {
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

pub(super) fn refused(bad: &BadWish) -> Failure {
    Failure::usage(bad.to_string(), bad.help())
}

pub(super) fn failure(error: ServerError) -> Failure {
    match error {
        ServerError::Store(error) => Failure::Stored(error),
        other => Failure::failed(other.to_string(), other.help()),
    }
}

fn token_json(token: &ApiToken) -> Value {
    json!({
        "id": token.id, "name": token.name, "user": token.user, "scopes": words(token), "mode": token.mode.map(|mode| mode.as_str()),
        "created_at": token.created_at, "last_used_at": token.last_used_at,
        "expires_at": token.validity.expires_at, "revoked_at": token.validity.revoked_at, "limits": token.limits,
    })
}

fn words(token: &ApiToken) -> Vec<&'static str> {
    token.scopes.iter().map(|scope| scope.as_str()).collect()
}
