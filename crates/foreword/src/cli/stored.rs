//! The words for what is stored: the template, layers, senders, events, and the store itself.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    /// Print the template in force, to the byte
    #[command(
        after_help = "Examples:\n  foreword template get\n  foreword template get --version 3 > old.md"
    )]
    Get {
        /// A stored version instead of the newest
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// Store a template as the next version; new conversations use it, others from their next compaction on
    #[command(
        after_help = "Examples:\n  foreword template set system.md --message 'shorter'\n  echo 'You are kind. It is [system:date].' | foreword template set -\n  foreword template set system.md --check"
    )]
    Set(TemplateSetArgs),
    /// List the stored versions, the newest first
    History,
    /// List what a template can refer to
    Variables,
}

#[derive(Debug, Args)]
pub(crate) struct TemplateSetArgs {
    /// The template, or - for standard input
    pub(crate) file: PathBuf,
    /// Why, for whoever reads the history
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Who wrote it [default: the user at this terminal]
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// Store it only if this is the newest version; 0 if there is none
    #[arg(long, value_name = "N")]
    pub(crate) expect: Option<u64>,
    /// Only show problems and warnings; store nothing
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LayersArgs {
    /// The agent whose layers they are [default: the first one]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) agent: Option<String>,
    #[command(subcommand)]
    pub(crate) command: LayersCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LayersCommand {
    /// List every layer of the blueprint: which can be changed, by whom they were, how much room is left
    List,
    /// Print a layer's text, to the byte
    #[command(after_help = "Examples:\n  foreword layers show 6\n  foreword layers show 6 --version 1")]
    Show {
        /// The layer
        id: String,
        /// A stored version instead of the newest
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// Give a mutable layer a new text; conversations use it from their next epoch on
    #[command(
        after_help = "Examples:\n  foreword layers set 6 loop.md --message 'check the runway first'\n  echo 'Answer within a day.' | foreword layers set 7 -"
    )]
    Set(LayerSetArgs),
    /// Show how a layer's text came about: every version, with what it changed
    History {
        /// The layer
        id: String,
    },
    /// Bring an earlier text back, as a new version
    #[command(
        after_help = "Examples:\n  foreword layers rollback 6             to the version before\n  foreword layers rollback 6 --to 1 --yes"
    )]
    Rollback(RollbackArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LayerSetArgs {
    /// The layer
    pub(crate) id: String,
    /// The text, or - for standard input
    pub(crate) file: PathBuf,
    /// Why, for whoever reads the history
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Store it only if this is the newest version; 0 if nothing was stored yet
    #[arg(long, value_name = "N")]
    pub(crate) expect: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    /// The layer
    pub(crate) id: String,
    /// The version to bring back [default: the one before the newest]
    #[arg(long, value_name = "N")]
    pub(crate) to: Option<u64>,
    /// Why, for whoever reads the history
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Don't ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SendersCommand {
    /// List who has written, the latest first
    List {
        /// The most to list
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u64,
    },
    /// Show what was said with a sender
    Show {
        /// The sender's address, such as 0xabc… or signal:+15550100
        address: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExportCommand {
    /// Write events as JSON lines, the oldest first
    #[command(
        after_help = "Examples:\n  foreword export events > events.jsonl\n  foreword export events --level error --since 12h\n  foreword export events --session abc --output abc.jsonl"
    )]
    Events(ExportEventsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ExportEventsArgs {
    /// Only this conversation's
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Only this level: info, warn or error
    #[arg(long, value_name = "LEVEL")]
    pub(crate) level: Option<String>,
    /// Only this type, such as api_error
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) event_type: Option<String>,
    /// Only this category, such as provider
    #[arg(long, value_name = "NAME")]
    pub(crate) category: Option<String>,
    /// Only this user's
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Only what happened since: 30m, 12h, 7d, today, 2026-11-16
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only what happened before
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// The most events to write
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// A file to write to; one that is there is not overwritten [default: standard output, -]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Look everything stored over: integrity, schema version, sizes
    Check,
    /// Copy everything into one file while the store is in use
    #[command(
        after_help = "The copy is a SQLite file, whichever engine it comes from.\n\nExamples:\n  foreword store backup monday.db\n  foreword store restore monday.db        into an empty store of either engine"
    )]
    Backup {
        /// The file to write; one that is there is not overwritten
        file: PathBuf,
        /// Overwrite it
        #[arg(long)]
        force: bool,
    },
    /// Bring a backup back into an empty store: also the way from SQLite to Postgres
    Restore {
        /// The backup
        file: PathBuf,
    },
    /// Delete events that are older than they are to be kept
    Prune {
        /// Delete what happened before: 30d, 2026-11-16 [default: events.retention_days ago]
        #[arg(long, value_name = "WHEN")]
        before: Option<String>,
    },
}
