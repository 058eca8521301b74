//! `foreword serve`: the agent lives as under `foreword run`, and is reached over HTTP and WebSocket.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_server::error::ServerError;
use foreword_server::server::Server;

use super::run::{Teller, hear_signals, live};
use crate::cli::serve::ServeArgs;
use crate::failure::Failure;
use crate::observing::Screen;
use crate::output::{BOLD, Output, styled};
use crate::running::Running;
use crate::signals::Signals;
use crate::world::World;

pub(crate) fn run(args: &ServeArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = Arc::new(world.open()?);
    let config = Arc::clone(&workspace.snapshot().config);
    let screen = Screen::of(&config.logging, output.wants_json());
    let listen = args.listen.unwrap_or(config.server.listen);
    let running = Running::start_in(workspace, world, screen)?;
    running.keep_metrics();
    let result = running.wait(async {
        let server = Server::start(running.server_parts(), listen).await.map_err(|error| failure(&error))?;
        output.say(&format!("listening on {}", styled(BOLD, server.url())));
        let signals = hear_signals()?;
        let teller = Teller { output, screen };
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

fn failure(error: &ServerError) -> Failure {
    Failure::failed(error.to_string(), error.help())
}
