//! Arguments of `foreword memory`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::OccasionArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List the memory menu of an occasion, with token counts
    #[command(
        after_help = "Examples:\n  foreword memory index\n  foreword memory index --user bob --situation group"
    )]
    Index {
        #[command(flatten)]
        who: PrincipalArgs,
    },
    /// Search memory: the best matches first, with token counts
    #[command(
        after_help = "Examples:\n  foreword memory search \"Carol's birthday\"\n  foreword memory search boiler service --user bob"
    )]
    Search {
        /// A few words to search for
        #[arg(required = true, value_name = "QUERY")]
        query: Vec<String>,
        #[command(flatten)]
        who: PrincipalArgs,
    },
    /// Print a note, or some of its lines
    #[command(
        after_help = "Examples:\n  foreword memory get private/people.md\n  foreword memory get private/people.md --from 4 --lines 10"
    )]
    Get(MemoryGetArgs),
    /// Write a note
    #[command(
        after_help = "Examples:\n  foreword memory write --store shared --title 'Boiler' 'Serviced on 3 May, next time in a year.'\n  foreword memory write --store private --title 'Minutes of Monday' --file minutes.md\n  date | foreword memory write --store social --title 'Last seen' -"
    )]
    Write(MemoryWriteArgs),
}

/// The user and the occasion, which decide what is visible.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PrincipalArgs {
    /// The user [default: the channel's user]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The channel, such as signal:+15550100 [default: terminal:default]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// The situation: dm, group, system, or a configured one [default: dm]
    #[arg(long, value_name = "NAME")]
    pub(crate) situation: Option<String>,
}

impl PrincipalArgs {
    pub(crate) fn occasion(&self) -> OccasionArgs {
        let Self { user, channel, situation } = self.clone();
        OccasionArgs { user, channel, situation, ..OccasionArgs::default() }
    }
}

#[derive(Debug, Args)]
pub(crate) struct MemoryGetArgs {
    /// The note's path, as the index or a search shows it
    pub(crate) path: String,
    /// The first line [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) from: Option<usize>,
    /// How many lines [default: to the end]
    #[arg(long, value_name = "N")]
    pub(crate) lines: Option<usize>,
    #[command(flatten)]
    pub(crate) who: PrincipalArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryWriteArgs {
    /// Who may read it: private is for the owner, shared for trust inner and above, social for trust familiar and above
    #[arg(long, value_name = "STORE", value_parser = ["private", "shared", "social"])]
    pub(crate) store: String,
    /// A one-line title
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: String,
    /// The text, or - for standard input
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    pub(crate) text: Option<String>,
    /// A file with the text
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) who: PrincipalArgs,
}
