//! `foreword serve`: runs the agent like `foreword run` and serves HTTP and WebSocket. The first start is safe: the
//! server is reachable from this machine only, and its first token is shown once to the user who starts it.

mod demo;
mod first_token;
mod page_link;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use foreword_server::server::{Server, ServerParts};
use foreword_workspace::config::ServerConfig;
use foreword_workspace::workspace::Workspace;

use super::run::{EventPrinter, listen_for_signals, live};
use super::token::failure;
use crate::cli::serve::ServeArgs;
use crate::failure::Failure;
use crate::logging::StdoutLog;
use crate::output::{BOLD, Output, styled};
use crate::process_context::ProcessContext;
use crate::running_agent::RunningAgent;
use crate::signals::Signals;
use crate::token_use;

pub(crate) fn run(args: &ServeArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    if args.demo {
        return demo::run(args, process, output);
    }
    serve(args, Arc::new(process.open()?), &[], process, output)
}

fn serve(
    args: &ServeArgs,
    workspace: Arc<Workspace>,
    introduction: &[String],
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let config = Arc::clone(&workspace.snapshot().config);
    let screen = StdoutLog::of(&config.logging, output.wants_json());
    let listen = args.listen.unwrap_or(config.server.listen);
    let running = RunningAgent::start_with_stdout_log(workspace, process, screen)?;
    running.keep_metrics();
    let result = running.wait(async {
        let parts = ServerParts { page: args.page.clone(), ..running.server_parts() };
        let server = Server::start(parts, listen).await.map_err(failure)?;
        let url = token_use::url(server.address(), &config.server);
        // The link comes first, since most users look for it. It is printed only after a successful start.
        page_link::show(&server, &url, args.demo, output);
        output.print_stderr(&format!("listening on {}", styled(BOLD, &url)));
        if let Some(tls_warning) = tls_warning(server.address(), &config.server) {
            output.warn(&tls_warning);
        }
        introduction.iter().for_each(|line| output.print_stderr(line));
        if args.demo && history_interrupted(&running, output).await? {
            server.shut_down().await;
            return Ok(ExitCode::SUCCESS);
        }
        first_token::create_if_missing(&running, &url, output).await?;
        let (signals, printer) = (listen_for_signals()?, EventPrinter { output, screen });
        tokio::select! {
            result = run_until_stopped(&running, &printer, server) => result,
            () = second_signal(signals) => {
                output.print_stderr("stopping at once");
                Ok(ExitCode::SUCCESS)
            }
        }
    });
    running.stop();
    result
}

/// Creates the demo's history. Returns whether a stop was requested meanwhile.
async fn history_interrupted(running: &RunningAgent, output: &Output) -> Result<bool, Failure> {
    let mut signals = listen_for_signals()?;
    Ok(tokio::select! {
        () = Box::pin(demo::history::make(running, output)) => false,
        () = signals.next() => true,
    })
}

/// Runs until a signal arrives, then shuts down gracefully.
async fn run_until_stopped(
    running: &RunningAgent,
    printer: &EventPrinter<'_>,
    server: Server,
) -> Result<ExitCode, Failure> {
    let result = live(running, printer, Some(&server)).await;
    server.shut_down().await;
    result
}

/// A second signal ends the wait for running work.
async fn second_signal(mut signals: Signals) {
    signals.next().await;
    signals.next().await;
}

/// A warning if the server is reachable from other machines without TLS.
fn tls_warning(address: SocketAddr, config: &ServerConfig) -> Option<String> {
    let behind_tls = config.public_url.as_ref().is_some_and(|url| url.as_str().starts_with("https:"));
    if address.ip().is_loopback() || config.tls.is_some() || behind_tls {
        return None;
    }
    Some(format!(
        "other machines can reach {address} without TLS: tokens and messages can be intercepted on the \
         network.\n  Listen on 127.0.0.1 behind a reverse proxy with TLS (and set `server.public_url`), or \
         set `server.tls`."
    ))
}
