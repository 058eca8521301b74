//! The words for memory: what there is, what is in it, and how to add to it.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::OccasionArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List what the memory menu offers on an occasion, and what loading each costs
    #[command(
        after_help = "Examples:\n  foreword memory index\n  foreword memory index --user bob --situation group"
    )]
    Index {
        #[command(flatten)]
        who: WhoArgs,
    },
    /// Find what memory says about something: the best places first, with what they cost
    #[command(
        after_help = "Examples:\n  foreword memory search \"Carol's birthday\"\n  foreword memory search boiler service --user bob"
    )]
    Search {
        /// What to look for, in a few words
        #[arg(required = true, value_name = "QUERY")]
        query: Vec<String>,
        #[command(flatten)]
        who: WhoArgs,
    },
    /// Print a note, or some of its lines
    #[command(
        after_help = "Examples:\n  foreword memory get private/people.md\n  foreword memory get private/people.md --from 4 --lines 10"
    )]
    Get(MemoryGetArgs),
    /// Keep a note
    #[command(
        after_help = "Examples:\n  foreword memory write --store shared --title 'Boiler' 'Serviced on 3 May, next time in a year.'\n  foreword memory write --store private --title 'Minutes of Monday' --file minutes.md\n  date | foreword memory write --store social --title 'Last seen' -"
    )]
    Write(MemoryWriteArgs),
}

/// Who asks, and where: with less trust there is less to see.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WhoArgs {
    /// Who asks [default: whoever the channel belongs to]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Where from, such as signal:+15550100 [default: terminal:default]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// The kind of place: dm, group, system, or one of your own [default: dm]
    #[arg(long, value_name = "NAME")]
    pub(crate) situation: Option<String>,
}

impl WhoArgs {
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
    pub(crate) who: WhoArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryWriteArgs {
    /// Who may read it later: private is for the owner, shared for those close, social for whoever is known
    #[arg(long, value_name = "STORE", value_parser = ["private", "shared", "social"])]
    pub(crate) store: String,
    /// One line by which it will be found again
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: String,
    /// What to remember, or - for standard input
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    pub(crate) text: Option<String>,
    /// A file with what to remember
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
}
