//! Finds the programs to measure.

use std::path::PathBuf;
use std::process::Command;

use crate::Found;

/// `foreword`: the one that `FOREWORD_BIN` names, or else a release build.
pub fn program() -> Found<PathBuf> {
    given_or_built("FOREWORD_BIN", "foreword", "foreword")
}

/// The bare proxy: the one that `FOREWORD_BARE_PROXY` names, or else a release build.
pub fn bare_proxy() -> Found<PathBuf> {
    given_or_built("FOREWORD_BARE_PROXY", "foreword-bench-http", "bare-proxy")
}

fn given_or_built(variable: &str, package: &str, name: &str) -> Found<PathBuf> {
    if let Some(given) = std::env::var_os(variable) {
        return Ok(given.into());
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built =
        Command::new(cargo).args(["build", "--release", "--package", package, "--bin", name]).status()?;
    if !built.success() {
        return Err(format!("`cargo build --release --package {package}` failed").into());
    }
    // This program is in `release` or `release/deps`.
    let own = std::env::current_exe()?;
    let found =
        own.ancestors().skip(1).take(2).map(|directory| directory.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| format!("no `{name}` next to {}", own.display()).into())
}
