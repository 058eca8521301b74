//! Arguments of `foreword template`, `layers`, `senders`, `export` and `store`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    /// Print the exact bytes of the current template
    #[command(
        after_help = "Examples:\n  foreword template get\n  foreword template get --version 3 > old.md"
    )]
    Get {
        /// A stored version instead of the newest
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// Store a template as the next version; new conversations use it, existing ones after their next compaction
    #[command(
        after_help = "Examples:\n  foreword template set system.md --message 'shorter'\n  echo 'You are kind. It is [system:date].' | foreword template set -\n  foreword template set system.md --check"
    )]
    Set(TemplateSetArgs),
    /// List the stored versions, the newest first
    History,
    /// List the variables of templates
    Variables,
}

#[derive(Debug, Args)]
pub(crate) struct TemplateSetArgs {
    /// The template, or - for standard input
    pub(crate) file: PathBuf,
    /// The reason, for the history
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// The author [default: the user at this terminal]
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// Store it only if this is the newest version; 0 if none is stored
    #[arg(long, value_name = "N")]
    pub(crate) expect: Option<u64>,
    /// Show problems and warnings without storing the template
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LayersArgs {
    /// The agent [default: the first one]
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) agent: Option<String>,
    #[command(subcommand)]
    pub(crate) command: LayersCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LayersCommand {
    /// List the blueprint's layers: which are mutable, who changed them last, how many characters are left
    List,
    /// Print the exact bytes of a layer's text
    #[command(after_help = "Examples:\n  foreword layers show 6\n  foreword layers show 6 --version 1")]
    Show {
        /// The layer
        id: String,
        /// A stored version instead of the newest
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// Set the text of a mutable layer; conversations use it from their next epoch on
    #[command(
        after_help = "Examples:\n  foreword layers set 6 loop.md --message 'check the runway first'\n  echo 'Answer within a day.' | foreword layers set 7 -"
    )]
    Set(LayerSetArgs),
    /// Show all versions of a layer, with their changes
    History {
        /// The layer
        id: String,
    },
    /// Restore an earlier text as a new version
    #[command(
        after_help = "Examples:\n  foreword layers rollback 6             to the previous version\n  foreword layers rollback 6 --to 1 --yes"
    )]
    Rollback(RollbackArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LayerSetArgs {
    /// The layer
    pub(crate) id: String,
    /// The text, or - for standard input
    pub(crate) file: PathBuf,
    /// The reason, for the history
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Store it only if this is the newest version; 0 if none is stored
    #[arg(long, value_name = "N")]
    pub(crate) expect: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    /// The layer
    pub(crate) id: String,
    /// The version to restore [default: the one before the newest]
    #[arg(long, value_name = "N")]
    pub(crate) to: Option<u64>,
    /// The reason, for the history
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Don't ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SendersCommand {
    /// List senders, the latest first
    List {
        /// The maximum number to list
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u64,
    },
    /// Show the messages of a sender and the answers
    Show {
        /// The sender's address, such as 0xabc… or signal:+15550100
        address: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExportCommand {
    /// Export events as JSON lines, the oldest first
    #[command(
        after_help = "Examples:\n  foreword export events > events.jsonl\n  foreword export events --level error --since 12h\n  foreword export events --session abc --output abc.jsonl"
    )]
    Events(ExportEventsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ExportEventsArgs {
    /// Only events of this conversation
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
    /// Only this user
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Only events since: 30m, 12h, 7d, today, 2026-11-16
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only events before
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// The maximum number of events
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// The file to write; an existing one is not overwritten [default: standard output, -]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Check the store: integrity, schema version, sizes
    Check,
    /// Copy all data to one file while the store is in use
    #[command(
        after_help = "The backup is a SQLite file, for either engine.\n\nExamples:\n  foreword store backup monday.db\n  foreword store restore monday.db        into an empty store of either engine"
    )]
    Backup {
        /// The file to write; an existing one is not overwritten
        file: PathBuf,
        /// Overwrite an existing file
        #[arg(long)]
        force: bool,
    },
    /// Restore a backup to an empty store; also migrates from SQLite to Postgres
    Restore {
        /// The backup
        file: PathBuf,
    },
    /// Delete events that exceed their retention
    Prune {
        /// Delete events before: 30d, 2026-11-16 [default: events.retention_days ago]
        #[arg(long, value_name = "WHEN")]
        before: Option<String>,
    },
}
