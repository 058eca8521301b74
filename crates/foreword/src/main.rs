//! The `foreword` program. Only this crate reads the environment, the clock and the random number generator; the logic
//! is in the library crates.

mod chat;
mod cli;
mod command;
mod failure;
mod logging;
mod mcp_servers;
mod migration_notice;
mod models;
mod name_hints;
mod occasion;
mod output;
mod process_context;
mod running_agent;
mod signals;
mod store_watch;
mod telemetry;
mod text_input;
mod token_use;
mod viewer;
mod workspace_files;
mod workspace_store;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::output::Output;
use crate::process_context::{ProcessContext, Unmarked};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && asks_for_json() => {
            let failure = Failure::of_command_line(&error);
            Output::new(true).failure(&failure);
            return failure.exit_code();
        }
        Err(error) => error.exit(),
    };
    let output = Output::new(cli.json);
    match run(&cli, &output) {
        Ok(code) => code,
        Err(failure) => {
            output.failure(&failure);
            failure.exit_code()
        }
    }
}

/// Whether the command line has `--json`, even if it does not parse.
fn asks_for_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

fn run(cli: &Cli, output: &Output) -> Result<ExitCode, Failure> {
    let process = ProcessContext::read(
        cli.workspace.as_deref(),
        if cli.here { Unmarked::Allowed } else { Unmarked::Refused },
    )?;
    if let Some(notice) = process.overridden_by_environment() {
        output.warn(&notice);
    }
    match &cli.command {
        Command::Init(args) => command::init::run(args, &process, output),
        Command::Build(args) => command::build::run(args, &process, output),
        Command::Render(args) => command::render::run(args, &process, output),
        Command::Explain(args) => command::explain::run(args, &process, output),
        Command::Diff(args) => command::diff::run(args, &process, output),
        Command::Simulate(args) => command::simulate::run(args, &process, output),
        Command::Chat(args) => command::chat::run(args, &process, output),
        Command::Run => command::run::run(&process, output),
        Command::Serve(args) => command::serve::run(args, &process, output),
        Command::Mcp(args) => command::mcp::run(args, &process, output),
        Command::Token(command) => command::token::run(command, &process, output),
        Command::Schedules(args) => command::schedules::run(args, &process, output),
        Command::Status(args) => command::status::run(args, &process, output),
        Command::Logs(args) => command::logs::run(args, &process, output),
        Command::Trace(args) => command::trace::run(args, &process, output),
        Command::Cache(args) => command::cache::run(args, &process, output),
        Command::Cost(args) => command::cost::run(args, &process, output),
        Command::Tools(args) => command::tools::run(args, &process, output),
        Command::Check => command::check::run(&process, output),
        Command::Template(command) => command::template::run(command, &process, output),
        Command::Agents(args) => command::agents::run(args, &process, output),
        Command::Layers(args) => command::layers::run(args, &process, output),
        Command::Memory(command) => command::memory::run(command, &process, output),
        Command::Workflows(args) => command::workflows::run(args, &process, output),
        Command::Conversations(command) => command::conversations::run(command, &process, output),
        Command::Skills(args) => command::skills::run(args, &process, output),
        Command::Senders(command) => command::senders::run(command, &process, output),
        Command::Inbox(command) => command::inbox::run(command, &process, output),
        Command::Outbox(command) => command::outbox::run(command, &process, output),
        Command::Tick => command::tick::run(&process, output),
        Command::Export(command) => command::export::run(command, &process, output),
        Command::Store(command) => command::store::run(command, &process, output),
        Command::Schema => command::schema::run(output),
        Command::Completions { shell } => command::completions::run(*shell, output),
        Command::Man(args) => command::man::run(args, output),
    }
}
