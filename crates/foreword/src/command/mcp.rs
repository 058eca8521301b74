//! `foreword mcp`: memory, prompts and introspection for another agent that starts this program and speaks the Model Context
//! Protocol with it. Standard output carries the protocol and nothing else.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::inbound::Occasion;
use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_agent::visiting::Visitor;
use foreword_core::api_token::Scope;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::occasion::Channel;
use foreword_prompt::untrusted::display_line;
use foreword_server::auth::credential::Credential;
use foreword_server::mcp::serve_stdio;
use foreword_store::tokens::ApiToken;
use foreword_workspace::config::Config;

use super::token::failure;
use crate::cli::mcp::McpArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::running::Running;
use crate::signals::Signals;
use crate::world::World;

/// A token that says who asks.
const TOKEN_VARIABLE: &str = "FOREWORD_TOKEN";

pub(crate) fn run(args: &McpArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let running = Running::start_for_visitors(world)?;
    let result = serve(args, &running, output);
    running.stop();
    result
}

fn serve(args: &McpArgs, running: &Running, output: &Output) -> Result<ExitCode, Failure> {
    let config = Arc::clone(&running.workspace.snapshot().config);
    let visitor = visitor(args, running, &config)?;
    if running.agent.visitor_tools(&visitor)?.is_empty() {
        output.warn("nothing is open to whoever asks: name a user of foreword.yaml with --user");
    }
    running.wait(async {
        let mut signals = Signals::listen()
            .map_err(|error| Failure::failed(format!("can't listen for Ctrl-C: {error}"), "report this"))?;
        tokio::select! {
            () = signals.next() => Ok(()),
            served = serve_stdio(running.agent.clone(), visitor) => served.map_err(failure),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Who asks: whom a token speaks for, else whoever is named, else whoever sits at the terminal.
fn visitor(args: &McpArgs, running: &Running, config: &Config) -> Result<Visitor, Failure> {
    let named = args.user.as_deref();
    if let Some(unknown) = named.filter(|name| config.user(name).is_none()) {
        let near = did_you_mean(unknown, config.users.iter().map(|user| &*user.name));
        let help = near.map_or_else(
            || "section `users` of foreword.yaml says who there is".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(Failure::usage(format!("there is no user `{}`", display_line(unknown, 80)), help));
    }
    let agent = args.agent.as_deref().map(Into::into);
    let token = token(running)?;
    if let (Some(token), Some(named)) = (&token, named)
        && token.user != named
    {
        let message = format!("`{TOKEN_VARIABLE}` speaks for `{}`, and --user says `{named}`", token.user);
        return Err(Failure::usage(message, format!("leave out --user, or unset `{TOKEN_VARIABLE}`")));
    }
    let user = token.as_ref().map(|token| token.user.as_str()).or(named);
    let occasion = Occasion {
        user: user.map(Into::into),
        channel: user.map(|user| Channel::new(&format!("mcp:{user}"))),
        agent,
        ..Occasion::default()
    };
    let scopes = token.map_or_else(|| [Scope::Chat, Scope::Observe].into(), |token| token.scopes);
    Ok(Visitor { occasion, scopes })
}

/// The token in the environment, if there is one.
fn token(running: &Running) -> Result<Option<ApiToken>, Failure> {
    let Some(text) = std::env::var_os(TOKEN_VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let surroundings: Arc<dyn Surroundings> = Arc::new(Machine);
    let credential = text.to_str().and_then(Credential::read);
    let found = match credential {
        Some(credential) => {
            running.wait(running.store.usable_token(&credential.hash(), surroundings.timestamp()))?
        }
        None => None,
    };
    match found {
        Some(token) => Ok(Some(token)),
        None => Err(Failure::failed(
            format!(
                "the token in `{TOKEN_VARIABLE}` opens nothing: it was revoked, has expired, or never was one"
            ),
            format!("unset `{TOKEN_VARIABLE}`, or make a token with `foreword token create`"),
        )),
    }
}
