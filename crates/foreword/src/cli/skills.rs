//! Arguments of `foreword skills`.

use clap::{Args, Subcommand};

use super::memory::PrincipalArgs;

#[derive(Debug, Args)]
pub(crate) struct SkillsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SkillsCommand>,
    #[command(flatten)]
    pub(crate) who: PrincipalArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the skills a user is offered (the default)
    List {
        #[command(flatten)]
        who: PrincipalArgs,
    },
    /// Print a skill as the tool skill_get returns it
    #[command(
        after_help = "Examples:\n  foreword skills show weekly-report\n  foreword skills show diary --user bob"
    )]
    Show {
        /// The skill
        name: String,
        #[command(flatten)]
        who: PrincipalArgs,
    },
}
