//! `foreword serve`: the agent lives as under `foreword run`, and is reached over HTTP and WebSocket.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_server::error::ServerError;
use foreword_server::server::Server;

use super::run::{Teller, live};
use crate::cli::serve::ServeArgs;
use crate::failure::Failure;
use crate::observing::Screen;
use crate::output::{BOLD, Output, styled};
use crate::running::Running;
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
        output.say(&format!("listening on {}", styled(BOLD, format!("http://{}", server.address()))));
        let result = live(&running, &Teller { output, screen }).await;
        server.stop().await;
        result
    });
    running.stop();
    result
}

fn failure(error: &ServerError) -> Failure {
    Failure::failed(error.to_string(), error.help())
}
