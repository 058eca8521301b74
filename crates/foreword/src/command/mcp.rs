//! `foreword mcp`: an MCP server on standard input and output that offers memory, prompts and introspection to another
//! agent. Standard output carries only the protocol.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_agent::external_client::ExternalClient;
use foreword_core::api_token::Scope;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::occasion::Channel;
use foreword_prompt::untrusted::display_line;
use foreword_server::auth::credential::Credential;
use foreword_server::mcp::serve_stdio;
use foreword_store::tokens::ApiToken;
use foreword_workspace::config::Config;
use foreword_workspace::speaker::Speaker;

use super::token::failure;
use crate::cli::mcp::McpArgs;
use crate::failure::Failure;
use crate::output::Output;
use crate::process_context::ProcessContext;
use crate::running_agent::RunningAgent;
use crate::signals::Signals;

/// The environment variable with the client's token.
const TOKEN_VARIABLE: &str = "FOREWORD_TOKEN";

pub(crate) fn run(args: &McpArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let running = RunningAgent::start_without_tool_servers(process)?;
    let result = serve(args, &running, output);
    running.stop();
    result
}

fn serve(args: &McpArgs, running: &RunningAgent, output: &Output) -> Result<ExitCode, Failure> {
    let config = Arc::clone(&running.workspace.snapshot().config);
    let visitor = visitor(args, running, &config)?;
    if running.agent.client_tools(&visitor)?.is_empty() {
        output.warn("this client may use nothing: name a user of foreword.yaml with --user");
    }
    running.wait(async {
        let mut signals = Signals::listen().map_err(|error| {
            Failure::failed(format!("can't listen for Ctrl-C: {error}"), "report this bug")
        })?;
        tokio::select! {
            () = signals.next() => Ok(()),
            served = serve_stdio(running.agent.clone(), visitor) => served.map_err(failure),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The client's identity: the token's user, else the named user, else the user at the terminal.
fn visitor(args: &McpArgs, running: &RunningAgent, config: &Config) -> Result<ExternalClient, Failure> {
    let named = args.user.as_deref();
    if let Some(unknown) = named.filter(|name| config.user(name).is_none()) {
        let near = did_you_mean(unknown, config.users.iter().map(|user| &*user.name));
        let help = near.map_or_else(
            || "see section `users` of foreword.yaml".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        return Err(Failure::usage(format!("unknown user `{}`", display_line(unknown, 80)), help));
    }
    let agent = args.agent.as_deref().map(Into::into);
    let token = token(running)?;
    if let (Some(token), Some(named)) = (&token, named)
        && token.user != named
    {
        let message =
            format!("the token in `{TOKEN_VARIABLE}` belongs to `{}`, but --user is `{named}`", token.user);
        return Err(Failure::usage(message, format!("omit --user, or unset `{TOKEN_VARIABLE}`")));
    }
    let user = token.as_ref().map(|token| token.user.as_str()).or(named);
    let occasion = TurnOrigin {
        speaker: Speaker {
            user: user.map(Into::into),
            channel: user.map(|user| Channel::new(&format!("mcp:{user}"))),
            agent,
            ..Speaker::default()
        },
        ..TurnOrigin::default()
    };
    let scopes = token.map_or_else(|| [Scope::Chat, Scope::Observe].into(), |token| token.scopes);
    Ok(ExternalClient { occasion, scopes })
}

/// The token in the environment, if there is one.
fn token(running: &RunningAgent) -> Result<Option<ApiToken>, Failure> {
    let Some(text) = std::env::var_os(TOKEN_VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let clock_and_rng: Arc<dyn ClockAndRng> = Arc::new(Machine);
    let credential = text.to_str().and_then(Credential::read);
    let found = match credential {
        Some(credential) => {
            running.wait(running.store.usable_token(&credential.hash(), clock_and_rng.timestamp()))?
        }
        None => None,
    };
    match found {
        Some(token) => Ok(Some(token)),
        None => Err(Failure::failed(
            format!("invalid, expired or revoked token in `{TOKEN_VARIABLE}`"),
            format!("unset `{TOKEN_VARIABLE}`, or create a token with `foreword token create`"),
        )),
    }
}
