//! The words for workflows: what there is, and what was run.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::memory::WhoArgs;

#[derive(Debug, Args)]
pub(crate) struct WorkflowsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<WorkflowsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowsCommand {
    /// List the workflows with their parameters; the same as no word at all
    List,
    /// Show a workflow: what it takes, and its steps
    Show {
        /// Its name
        name: String,
    },
    /// Run a workflow and show each step as it goes; what it gives goes to standard output
    #[command(
        after_help = "Examples:\n  foreword workflows run disk-report path=/srv\n  foreword workflows run disk-report path=/srv top=5\n  foreword workflows run weekly-review --user bob\n  foreword workflows run disk-report --parameters-file disk.yaml"
    )]
    Run(RunArgs),
    /// List past runs, the newest first
    Runs {
        /// Only those of this workflow
        name: Option<String>,
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u32,
    },
    /// Show one run: each step, what it gave, why it failed, how long it took
    Status {
        /// The run, as `foreword workflows runs` shows it
        run: String,
    },
    /// Go on with a run that failed, from the step that failed; what was done before is kept
    #[command(
        after_help = "Examples:\n  foreword workflows resume RUN\n  foreword workflows resume RUN --redo     do the step again, whatever it may have done\n  foreword workflows resume RUN --skip     go on without it"
    )]
    Resume(ResumeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Its name
    pub(crate) name: String,
    /// Its parameters; each value is read as its kind, anything but text as JSON
    #[arg(value_name = "K=V")]
    pub(crate) parameters: Vec<String>,
    /// A JSON or YAML file of parameters; those on the command line go before
    #[arg(long, value_name = "FILE")]
    pub(crate) parameters_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run, as `foreword workflows runs` shows it
    pub(crate) run: String,
    /// Do the step again at which it stands, whatever it may have done
    #[arg(long, conflicts_with = "skip")]
    pub(crate) redo: bool,
    /// Go on without the step at which it stands
    #[arg(long)]
    pub(crate) skip: bool,
    /// Go on although the file has changed where something is done already
    #[arg(long)]
    pub(crate) force: bool,
}
