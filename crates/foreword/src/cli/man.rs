//! The arguments of `foreword man`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const AFTER_HELP: &str = "\
Examples:
  foreword man | man -l -
  foreword man ~/.local/share/man/man1     then `man foreword` and `man foreword-build`";

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory for one page per command; created if missing [default: print the page of `foreword`]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}
