//! `foreword init`: creates a workspace that works at once. Never overwrites a file, and removes what it wrote if it
//! fails.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use foreword_prompt::blueprint::builtin;
use foreword_prompt::diagnostic::did_you_mean;
use serde_json::json;

use crate::cli::InitArgs;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, GREEN, Output, styled};
use crate::process_context::ProcessContext;
use crate::workspace_files::files_of;

pub(crate) fn run(args: &InitArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let files = files_of(&args.blueprint).ok_or_else(|| unknown_blueprint(&args.blueprint))?;
    let directory = args.dir.as_ref().map_or_else(|| process.directory(), |dir| process.current.join(dir));
    make(&directory, files, "choose another directory, or move these files away; nothing was written")?;
    if output.wants_json() {
        let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        output.json(&json!({ "directory": directory, "blueprint": args.blueprint, "files": paths }))?;
    } else {
        output.print(&welcome(&directory, files, process))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the files of a workspace, if none of them exists; otherwise fails with `help`.
pub(super) fn make(directory: &Path, files: &[(&str, &str)], help: &str) -> Result<(), Failure> {
    let taken: Vec<&str> = files
        .iter()
        .map(|(path, _)| *path)
        .filter(|path| directory.join(path).symlink_metadata().is_ok())
        .collect();
    if !taken.is_empty() {
        let message = format!("`{}` already has {}", directory.display(), taken.join(", "));
        return Err(Failure::failed(message, help));
    }
    write_all(directory, files)
}

fn unknown_blueprint(name: &str) -> Failure {
    let help = match did_you_mean(name, builtin::NAMES) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("use one of {}", builtin::NAMES.join(", ")),
    };
    Failure::usage(format!("unknown blueprint `{}`", name.escape_debug()), help)
}

fn write_all(directory: &Path, files: &[(&str, &str)]) -> Result<(), Failure> {
    let mut made = Vec::new();
    for (path, text) in files {
        let path = directory.join(path);
        if let Err(error) = write_new(&path, text, &mut made) {
            remove_files(&made);
            return Err(Failure::io("write", &path, &error));
        }
    }
    Ok(())
}

/// Writes a new file. Each path it creates is added to `made` first, so that a failure can be undone.
fn write_new(path: &Path, text: &str, made: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
        made.extend(missing.into_iter().rev().map(Path::to_owned));
        std::fs::create_dir_all(folder)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    made.push(path.to_owned());
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Removes a partial workspace. Folders that contain other files stay.
fn remove_files(made: &[PathBuf]) {
    for path in made.iter().rev() {
        let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path));
    }
}

fn welcome(directory: &Path, files: &[(&str, &str)], process: &ProcessContext) -> String {
    let mut out =
        format!("{} {}\n", styled(GREEN, "Created a workspace in"), styled(BOLD, directory.display()));
    for (path, _) in files {
        out.push_str(&format!("  {}\n", styled(DIM, path)));
    }
    let flag =
        if directory == process.current { String::new() } else { format!(" -w {}", directory.display()) };
    out.push_str(&format!(
        "\nNext:\n  foreword{flag} build      print the prompt for you\n  foreword{flag} explain    show why each layer is included, and the cost of a turn\n  foreword{flag} check      check for problems after an edit"
    ));
    out
}
