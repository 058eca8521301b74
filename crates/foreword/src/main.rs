//! The command line. The only place that reads the environment, the clock and chance; what it decides is in the
//! crates below.

mod chat;
mod cli;
mod command;
mod demo_files;
mod failure;
mod looking;
mod models;
mod name_hints;
mod observing;
mod occasion;
mod output;
mod running;
mod signals;
mod stored;
mod telemetry;
mod text_input;
mod token_use;
mod tool_servers;
mod world;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::failure::Failure;
use crate::output::Output;
use crate::world::World;

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

/// Whether the words on the command line ask for JSON, though they make no sense otherwise.
fn asks_for_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

fn run(cli: &Cli, output: &Output) -> Result<ExitCode, Failure> {
    let world = World::read(cli.workspace.as_deref())?;
    match &cli.command {
        Command::Init(args) => command::init::run(args, &world, output),
        Command::Build(args) => command::build::run(args, &world, output),
        Command::Render(args) => command::render::run(args, &world, output),
        Command::Explain(args) => command::explain::run(args, &world, output),
        Command::Diff(args) => command::diff::run(args, &world, output),
        Command::Simulate(args) => command::simulate::run(args, &world, output),
        Command::Chat(args) => command::chat::run(args, &world, output),
        Command::Run => command::run::run(&world, output),
        Command::Serve(args) => command::serve::run(args, &world, output),
        Command::Mcp(args) => command::mcp::run(args, &world, output),
        Command::Token(command) => command::token::run(command, &world, output),
        Command::Schedules(args) => command::schedules::run(args, &world, output),
        Command::Status(args) => command::status::run(args, &world, output),
        Command::Logs(args) => command::logs::run(args, &world, output),
        Command::Trace(args) => command::trace::run(args, &world, output),
        Command::Cache(args) => command::cache::run(args, &world, output),
        Command::Cost(args) => command::cost::run(args, &world, output),
        Command::Tools(args) => command::tools::run(args, &world, output),
        Command::Check => command::check::run(&world, output),
        Command::Template(command) => command::template::run(command, &world, output),
        Command::Agents(args) => command::agents::run(args, &world, output),
        Command::Layers(args) => command::layers::run(args, &world, output),
        Command::Memory(command) => command::memory::run(command, &world, output),
        Command::Workflows(args) => command::workflows::run(args, &world, output),
        Command::Conversations(command) => command::conversations::run(command, &world, output),
        Command::Skills(args) => command::skills::run(args, &world, output),
        Command::Senders(command) => command::senders::run(command, &world, output),
        Command::Inbox(command) => command::inbox::run(command, &world, output),
        Command::Outbox(command) => command::outbox::run(command, &world, output),
        Command::Tick => command::tick::run(&world, output),
        Command::Export(command) => command::export::run(command, &world, output),
        Command::Store(command) => command::store::run(command, &world, output),
        Command::Schema => command::schema::run(output),
        Command::Completions { shell } => command::completions::run(*shell, output),
    }
}
