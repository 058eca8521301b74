//! `foreword man`: the manual pages, one per command.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_mangen::Man;
use serde_json::json;

use crate::cli::Cli;
use crate::cli::man::ManArgs;
use crate::failure::Failure;
use crate::output::{Output, counted};

pub(crate) fn run(args: &ManArgs, output: &Output) -> Result<ExitCode, Failure> {
    match &args.directory {
        None => print(output)?,
        Some(directory) => write_all(directory, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print(output: &Output) -> Result<(), Failure> {
    let mut page = Vec::new();
    let rendered = Man::new(command()).render(&mut page);
    rendered
        .map_err(|error| Failure::failed(format!("can't render the page: {error}"), "report this bug"))?;
    output.print_exact(&String::from_utf8_lossy(&page))
}

fn write_all(directory: &Path, output: &Output) -> Result<(), Failure> {
    let pages = std::fs::create_dir_all(directory)
        .and_then(|()| {
            let mut pages = Vec::new();
            write(&command(), directory, &mut pages).map(|()| pages)
        })
        .map_err(|error| Failure::io("write", directory, &error))?;
    if output.wants_json() {
        return output.json(&json!({ "directory": directory, "files": pages }));
    }
    let count = u64::try_from(pages.len()).unwrap_or(u64::MAX);
    output.print(&format!("{} in {}", counted(count, "page"), directory.display()))
}

/// Without `help`, which has no page.
fn command() -> clap::Command {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    command
}

/// Writes the page of a command and of its subcommands, and adds their file names to `pages`.
fn write(command: &clap::Command, directory: &Path, pages: &mut Vec<String>) -> std::io::Result<()> {
    let page = Man::new(command.clone());
    page.generate_to(directory)?;
    pages.push(page.get_filename());
    let subcommands = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    subcommands.into_iter().try_for_each(|subcommand| write(subcommand, directory, pages))
}
