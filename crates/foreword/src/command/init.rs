//! `foreword init`: a workspace that works at once. All or nothing: no file is overwritten, and a failure takes back
//! what was written.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use foreword_prompt::blueprint::builtin;
use foreword_prompt::diagnostic::did_you_mean;
use serde_json::json;

use crate::cli::InitArgs;
use crate::demo_files::files_of;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, GREEN, Output, styled};
use crate::world::World;

pub(crate) fn run(args: &InitArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let files = files_of(&args.blueprint).ok_or_else(|| unknown_blueprint(&args.blueprint))?;
    let directory = args.dir.as_ref().map_or_else(|| world.directory(), |dir| world.current.join(dir));
    make(&directory, files, "choose another directory, or move these files away; nothing was written")?;
    if output.wants_json() {
        let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        output.json(&json!({ "directory": directory, "blueprint": args.blueprint, "files": paths }))?;
    } else {
        output.print(&welcome(&directory, files, world))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the files of a workspace, if none of them is there; `way_out` says what to do if one is.
pub(super) fn make(directory: &Path, files: &[(&str, &str)], way_out: &str) -> Result<(), Failure> {
    let taken: Vec<&str> = files
        .iter()
        .map(|(path, _)| *path)
        .filter(|path| directory.join(path).symlink_metadata().is_ok())
        .collect();
    if !taken.is_empty() {
        let message = format!("`{}` already has {}", directory.display(), taken.join(", "));
        return Err(Failure::failed(message, way_out));
    }
    write_all(directory, files)
}

fn unknown_blueprint(name: &str) -> Failure {
    let help = match did_you_mean(name, builtin::NAMES) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("use one of {}", builtin::NAMES.join(", ")),
    };
    Failure::usage(format!("there is no blueprint `{}` to start from", name.escape_debug()), help)
}

fn write_all(directory: &Path, files: &[(&str, &str)]) -> Result<(), Failure> {
    let mut made = Vec::new();
    for (path, text) in files {
        let path = directory.join(path);
        if let Err(error) = write_new(&path, text, &mut made) {
            take_back(&made);
            return Err(Failure::io("write", &path, &error));
        }
    }
    Ok(())
}

/// Writes a file that must not be there yet; whatever it makes on the way is told in `made` before it can fail.
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

/// What is half made helps nobody. A folder that somebody else has put something into stays.
fn take_back(made: &[PathBuf]) {
    for path in made.iter().rev() {
        let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir(path));
    }
}

fn welcome(directory: &Path, files: &[(&str, &str)], world: &World) -> String {
    let mut out = format!("{} {}\n", styled(GREEN, "Made a workspace in"), styled(BOLD, directory.display()));
    for (path, _) in files {
        out.push_str(&format!("  {}\n", styled(DIM, path)));
    }
    let flag =
        if directory == world.current { String::new() } else { format!(" -w {}", directory.display()) };
    out.push_str(&format!(
        "\nNext:\n  foreword{flag} build      the prompt you get\n  foreword{flag} explain    why each piece is there, and what a turn costs\n  foreword{flag} check      after every edit"
    ));
    out
}
