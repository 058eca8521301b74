//! `foreword completions`: a shell's completion script.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(shell: Shell, output: &Output) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "foreword", &mut script);
    output.print_exact(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
