//! `foreword serve`: the agent lives as under `foreword run`, and is reached over HTTP and WebSocket. A first start is safe:
//! nobody else's machine can reach it, and the token that opens it is shown once to whoever starts it.

mod demo;
mod first_token;
mod page_link;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use foreword_server::server::{Server, ServerParts};
use foreword_workspace::config::ServerConfig;
use foreword_workspace::workspace::Workspace;

use super::run::{Teller, hear_signals, live};
use super::token::failure;
use crate::cli::serve::ServeArgs;
use crate::failure::Failure;
use crate::observing::Screen;
use crate::output::{BOLD, Output, styled};
use crate::running::Running;
use crate::signals::Signals;
use crate::token_use;
use crate::world::World;

pub(crate) fn run(args: &ServeArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    if args.demo {
        return demo::run(args, world, output);
    }
    serve(args, Arc::new(world.open()?), &[], world, output)
}

fn serve(
    args: &ServeArgs,
    workspace: Arc<Workspace>,
    introduction: &[String],
    world: &World,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let config = Arc::clone(&workspace.snapshot().config);
    let screen = Screen::of(&config.logging, output.wants_json());
    let listen = args.listen.unwrap_or(config.server.listen);
    let running = Running::start_in(workspace, world, screen)?;
    running.keep_metrics();
    let result = running.wait(async {
        let parts = ServerParts { page: args.page.clone(), ..running.server_parts() };
        let server = Server::start(parts, listen).await.map_err(failure)?;
        let url = token_use::url(server.address(), &config.server);
        // The link comes first: it is what people look for. A start that failed has shown nobody anything.
        page_link::show(&server, &url, args.demo, output);
        output.say(&format!("listening on {}", styled(BOLD, &url)));
        if let Some(exposed) = exposed(server.address(), &config.server) {
            output.warn(&exposed);
        }
        introduction.iter().for_each(|line| output.say(line));
        if args.demo && history_is_cut_short(&running, output).await? {
            server.stop().await;
            return Ok(ExitCode::SUCCESS);
        }
        first_token::if_there_is_none(&running, &url, output).await?;
        let (signals, teller) = (hear_signals()?, Teller { output, screen });
        tokio::select! {
            result = to_the_end(&running, &teller, server) => result,
            () = told_twice(signals) => {
                output.say("stopping at once");
                Ok(ExitCode::SUCCESS)
            }
        }
    });
    running.stop();
    result
}

/// Makes the history of the demo. Says whether somebody wants it to stop before that is done.
async fn history_is_cut_short(running: &Running, output: &Output) -> Result<bool, Failure> {
    let mut signals = hear_signals()?;
    Ok(tokio::select! {
        () = Box::pin(demo::history::make(running, output)) => false,
        () = signals.next() => true,
    })
}

/// Lives until a signal comes, and lets what is under way come to an end.
async fn to_the_end(running: &Running, teller: &Teller<'_>, server: Server) -> Result<ExitCode, Failure> {
    let result = live(running, teller, Some(&server)).await;
    server.stop().await;
    result
}

/// Whoever says it a second time does not want to wait.
async fn told_twice(mut signals: Signals) {
    signals.next().await;
    signals.next().await;
}

/// What to know where others can reach the server and nothing is encrypted on the way.
fn exposed(address: SocketAddr, config: &ServerConfig) -> Option<String> {
    let behind_tls = config.public_url.as_ref().is_some_and(|url| url.as_str().starts_with("https:"));
    if address.ip().is_loopback() || config.tls.is_some() || behind_tls {
        return None;
    }
    Some(format!(
        "other machines can reach {address}, and nothing is encrypted on the way: whoever listens there reads tokens \
         and messages.\n  Listen on 127.0.0.1 behind a reverse proxy with TLS (and name it in `server.public_url`), or \
         set `server.tls`."
    ))
}
