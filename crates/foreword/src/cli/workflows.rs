//! Arguments of `foreword workflows`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::SettingsArgs;
use super::memory::PrincipalArgs;

#[derive(Debug, Args)]
pub(crate) struct WorkflowsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<WorkflowsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowsCommand {
    /// List workflows with their parameters (the default)
    List,
    /// Show a workflow's parameters and steps
    Show {
        /// Its name
        name: String,
    },
    /// Run a workflow and show its progress; the result goes to standard output
    #[command(
        after_help = "Examples:\n  foreword workflows run disk-report path=/srv\n  foreword workflows run disk-report path=/srv top=5\n  foreword workflows run weekly-review --user bob\n  foreword workflows run disk-report --parameters-file disk.yaml"
    )]
    Run(Box<RunArgs>),
    /// List past runs, the newest first
    Runs {
        /// Only runs of this workflow
        name: Option<String>,
        /// How many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u32,
    },
    /// Show a run: each step with its output, error and duration
    Status {
        /// The run's id, as `foreword workflows runs` shows it
        run: String,
    },
    /// Resume a failed run from the failed step; results of earlier steps are kept
    #[command(
        after_help = "Examples:\n  foreword workflows resume RUN\n  foreword workflows resume RUN --redo     run the step again, whatever it may have done\n  foreword workflows resume RUN --skip     continue with the next step"
    )]
    Resume(ResumeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Its name
    pub(crate) name: String,
    /// Its parameters; each value is parsed as the parameter's type, as JSON unless it is text
    #[arg(value_name = "K=V")]
    pub(crate) parameters: Vec<String>,
    /// A JSON or YAML file of parameters; those on the command line take precedence
    #[arg(long, value_name = "FILE")]
    pub(crate) parameters_file: Option<PathBuf>,
    /// The working directory of the run's conversation; stored with it [default: the workflow file's, else the workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    #[command(flatten)]
    pub(crate) who: PrincipalArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run's id, as `foreword workflows runs` shows it
    pub(crate) run: String,
    /// Run the failed step again, whatever it may have done
    #[arg(long, conflicts_with = "skip")]
    pub(crate) redo: bool,
    /// Skip the failed step
    #[arg(long)]
    pub(crate) skip: bool,
    /// Resume even if the file has changed in steps that have already run
    #[arg(long)]
    pub(crate) force: bool,
}
