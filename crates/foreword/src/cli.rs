//! The command line's arguments and their help texts.

pub(crate) mod agents;
pub(crate) mod conversations;
pub(crate) mod inbox;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod observe;
pub(crate) mod schedules;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod skills;
pub(crate) mod stored;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod workflows;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use foreword_prompt::layer::Dialect;

use agents::AgentsArgs;
use conversations::ConversationsCommand;
use inbox::{InboxCommand, OutboxCommand};
use man::ManArgs;
use mcp::McpArgs;
use memory::{MemoryCommand, PrincipalArgs};
use observe::{CacheArgs, CostArgs, LogsArgs, TraceArgs};
use schedules::SchedulesArgs;
use serve::ServeArgs;
use simulate::SimulateArgs;
use skills::SkillsArgs;
use stored::{ExportCommand, LayersArgs, SendersCommand, StoreCommand, TemplateCommand};
use tokens::TokenCommand;
use tools::ToolsArgs;
use workflows::WorkflowsArgs;

const AFTER_HELP: &str = "\
Quick start:
  foreword init home                                        create a workspace
  foreword -w home build                                    print the prompt for you
  foreword -w home build --user bob --situation group       print the prompt for bob in the group
  foreword -w home explain --user bob --situation group     show why each layer is included, and its cost
  foreword -w home check                                    list all problems, with line numbers

Exit codes: 0 success, 1 failure, 2 invalid usage, 3 invalid configuration or template.";

/// System-prompt engine and agent gateway: builds the system prompt for each user, channel and situation.
#[derive(Debug, Parser)]
#[command(name = "foreword", version, after_help = AFTER_HELP, max_term_width = 110)]
pub(crate) struct Cli {
    /// The workspace's directory [default: the current directory]
    #[arg(short, long, global = true, value_name = "DIR", env = "FOREWORD_WORKSPACE")]
    pub(crate) workspace: Option<PathBuf>,
    /// Use the directory even if it has neither `foreword.yaml` nor `.foreword/`
    #[arg(long, global = true)]
    pub(crate) here: bool,
    /// Print JSON, including errors
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create a workspace that works at once with the offline model
    #[command(
        after_help = "Examples:\n  foreword init\n  foreword init house --blueprint gateway\n  foreword init keeper --blueprint sovereign"
    )]
    Init(InitArgs),
    /// Print the prompt for an occasion
    #[command(
        after_help = "Examples:\n  foreword build\n  foreword build --user bob --channel signal:bob --situation group\n  foreword build --format anthropic --model anthropic/claude-sonnet-4-6\n  foreword build --context locale=pt-PT --context-file context.json"
    )]
    Build(BuildArgs),
    /// Render a template file once, without storing anything
    #[command(
        after_help = "Examples:\n  foreword render prompts/system.md\n  foreword render AGENT.md --dialect jinja --context user_id=u-42\n  echo 'Today is [system:date].' | foreword render -"
    )]
    Render(RenderArgs),
    /// Show each layer of a prompt with its reason and token count, what is withheld, and the cost of a turn
    #[command(
        after_help = "Examples:\n  foreword explain\n  foreword explain --user bob --situation group\n  foreword explain --model anthropic/claude-sonnet-4-6 --watch"
    )]
    Explain(ExplainArgs),
    /// Show the differences between two occasions, layer by layer
    #[command(
        after_help = "Examples:\n  foreword diff --a user=alice --b user=bob,situation=group\n  foreword diff --b model=openai/gpt-5.4"
    )]
    Diff(DiffArgs),
    /// Estimate a conversation's cost with prompt caching, and compare ways to build the prompt
    Simulate(SimulateArgs),
    /// Chat with the agent in the terminal
    #[command(
        after_help = "Examples:\n  foreword chat\n  foreword chat \"what's Carol's birthday?\"\n  foreword chat --user bob --situation group \"what's Carol's birthday?\"\n  foreword chat --continue\n  foreword chat --model anthropic/claude-haiku-4-5\n  git log -5 | foreword chat -\n\nIn the chat, /help lists the commands. Answers go to standard output, everything else to standard error."
    )]
    Chat(ChatArgs),
    /// Run the agent and its schedules in the foreground, until Ctrl-C
    #[command(
        after_help = "Examples:\n  foreword run\n  foreword -w home run\n  foreword --json run    one JSON object per line on standard output\n\nThe log goes to standard output: JSON lines, or human-readable lines at a terminal (section `logging` of\nforeword.yaml). Firings that were missed while the agent was not running are caught up or skipped, as each schedule\nconfigures. Several processes may share a store: each firing runs in one of them."
    )]
    Run,
    /// Run the agent as a server: HTTP, WebSocket, and drop-in endpoints for Anthropic and OpenAI clients
    #[command(after_help = serve::AFTER_HELP)]
    Serve(ServeArgs),
    /// Create, list and revoke API tokens for the HTTP interface
    #[command(subcommand)]
    Token(TokenCommand),
    /// Serve memory, prompts and the log to another agent, as an MCP server on standard input and output
    #[command(
        after_help = "Examples:\n  claude mcp add foreword -- foreword -w ~/home mcp\n  claude mcp add foreword-bob -- foreword -w ~/home mcp --user bob\n\nThe client starts this program and has the permissions of the user. With `FOREWORD_TOKEN` in the environment, the\ntoken sets the user and the permissions. `foreword serve` offers the same over HTTP at /mcp."
    )]
    Mcp(McpArgs),
    /// List, show and run schedules, and show past firings
    #[command(
        after_help = "Examples:\n  foreword schedules\n  foreword schedules show morning\n  foreword schedules run morning\n  foreword schedules history morning --limit 5\n\nSchedules are configured in section `schedules` of foreword.yaml; `foreword run` fires them."
    )]
    Schedules(SchedulesArgs),
    /// Show the agent's status: channels, conversations, memory and the latest errors
    #[command(
        after_help = "Examples:\n  foreword status\n  foreword status --user bob --situation group    what bob would see in the group\n  foreword status --user bob --conversation c-1   what bob would see in that conversation\n  foreword --json status\n\nThe agent's tool foreword_status returns the same. The owner sees everything, other users only\ntheir conversation."
    )]
    Status(StatusArgs),
    /// Show events, the newest last
    #[command(
        after_help = "Examples:\n  foreword logs\n  foreword logs --level error --since 12h\n  foreword logs --type api_error --limit 5\n  foreword logs --user alice --since today\n  foreword logs --follow\n  foreword --json logs --session c-1          one JSON object per line\n  foreword logs --as bob --conversation c-1   what bob would see in that conversation\n\nThe agent's tool foreword_logs returns the same."
    )]
    Logs(LogsArgs),
    /// Show one turn as a tree: each model call, tool call and wait with its duration, tokens and cost
    #[command(
        after_help = "Examples:\n  foreword trace last\n  foreword trace t-066064fa4b\n  foreword --json trace last\n\nThe agent's tool foreword_trace returns the same."
    )]
    Trace(TraceArgs),
    /// Show why prompt-cache reads missed: where the prefix diverged, the cause and the cost
    #[command(
        after_help = "Examples:\n  foreword cache                        all conversations of the last 30 days\n  foreword cache --conversation c-1     one conversation\n  foreword --json cache --since today\n\nEach request is compared by hashes with the previous one of its conversation; no text is stored for this.\nIf a provider does not report cache reads, `not reported` is shown, not 0 %."
    )]
    Cache(CacheArgs),
    /// Show costs by day, conversation, user, model or agent
    #[command(
        after_help = "Examples:\n  foreword cost                          the last 30 days, and today\n  foreword cost --by session             which conversation used the most\n  foreword cost --by model --since 7d\n  foreword --json cost --since today\n\nComputed from the events of model calls, which are kept for `events.retention_days`."
    )]
    Cost(CostArgs),
    /// List and show the agent's tools and their MCP servers
    Tools(ToolsArgs),
    /// Report all problems in configuration, blueprints, templates and files
    Check,
    /// Get and set the stored template of blueprint `template`, and show its history and variables
    #[command(subcommand)]
    Template(TemplateCommand),
    /// List and show agents, and hand a conversation to another one
    #[command(
        after_help = "Examples:\n  foreword agents\n  foreword agents show clerk\n  foreword agents hand-over CONVERSATION clerk --reason 'a letter to answer'"
    )]
    Agents(AgentsArgs),
    /// List and show the prompt's layers, and change the mutable ones
    Layers(LayersArgs),
    /// List, search, read and write the agent's memory
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// List, show, run and resume workflows, and show past runs
    #[command(
        after_help = "Examples:\n  foreword workflows\n  foreword workflows show disk-report\n  foreword workflows run disk-report path=/srv top=5\n  foreword workflows runs\n  foreword workflows status RUN\n  foreword workflows resume RUN"
    )]
    Workflows(WorkflowsArgs),
    /// List conversations and show their messages
    #[command(subcommand)]
    Conversations(ConversationsCommand),
    /// List and show skills
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  foreword skills\n  foreword skills --user bob --situation group\n  foreword skills show weekly-report\n\nA skill is a folder with a file: skills/<name>/SKILL.md for all users, users/<user>/skills/<name>/SKILL.md for\none user."
    )]
    Skills(SkillsArgs),
    /// List the senders of the inbox and show their messages
    #[command(subcommand)]
    Senders(SendersCommand),
    /// Stage, list, show and retry messages for the agent
    #[command(subcommand)]
    Inbox(InboxCommand),
    /// List and show the agent's messages to others, and mark them as delivered
    #[command(subcommand)]
    Outbox(OutboxCommand),
    /// Run one turn: answer a batch of the inbox, or a turn of the agent's own
    #[command(
        after_help = "Examples:\n  foreword inbox stage --from 0xA11CE \"hello\" && foreword tick\n  foreword tick                  with an empty inbox: a turn of the agent's own\n  foreword --json tick           one JSON object per line, the last of type `ticked`\n\nExit code 1 if the turn failed; its messages stay pending."
    )]
    Tick,
    /// Export stored data for other programs
    #[command(subcommand)]
    Export(ExportCommand),
    /// Check, back up, restore and prune the store
    #[command(subcommand)]
    Store(StoreCommand),
    /// Print the JSON Schema of foreword.yaml
    Schema,
    /// Print a shell's completion script
    #[command(
        after_help = "Example:\n  foreword completions bash > ~/.local/share/bash-completion/completions/foreword"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands to a directory
    #[command(after_help = man::AFTER_HELP)]
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The directory [default: the workspace, else the current directory]
    pub(crate) dir: Option<PathBuf>,
    /// The blueprint: gateway, vm, sovereign, template or agent
    #[arg(long, default_value = "gateway", value_name = "B")]
    pub(crate) blueprint: String,
}

/// The user, channel, situation and agent of an occasion.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OccasionArgs {
    /// The user [default: the channel's user]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The message's channel, such as signal:+15550100 [default: terminal:default]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// The situation: dm, group, system, or a configured one [default: dm]
    #[arg(long, value_name = "NAME")]
    pub(crate) situation: Option<String>,
    /// The agent's name [default: as configured]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The model, as provider/name [default: as configured]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The conversation's id
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
    /// The working directory [default: the workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A value for templates, or a line of a sovereign agent's state; JSON if it parses, else text
    #[arg(long, value_name = "K=V", num_args = 1..)]
    pub(crate) context: Vec<String>,
    /// A JSON or YAML file of values for templates
    #[arg(long, value_name = "FILE")]
    pub(crate) context_file: Option<PathBuf>,
    /// Instructions for this conversation
    #[arg(long, value_name = "TEXT")]
    pub(crate) session_instructions: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The text that the model reads
    Text,
    /// A report with all layers, ranges and hashes
    Json,
    /// The body of an Anthropic Messages request
    Anthropic,
    /// The body of an OpenAI chat request
    Openai,
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) occasion: OccasionArgs,
    /// The output format [default: text, or json with --json]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// `[type:name]` and `[if type:name]`; unknown types are left unchanged
    Bracket,
    /// The same, but every unknown `[type:name]` is removed
    BracketCompat,
    /// Jinja, strict
    Jinja,
}

impl From<DialectArg> for Dialect {
    fn from(arg: DialectArg) -> Self {
        match arg {
            DialectArg::Bracket => Self::Bracket,
            DialectArg::BracketCompat => Self::BracketCompat,
            DialectArg::Jinja => Self::Jinja,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RenderArgs {
    /// The template, or - for standard input
    #[arg(required_unless_present = "context")]
    pub(crate) file: Option<PathBuf>,
    /// The template's dialect [default: the configured prompt.dialect]
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<DialectArg>,
    /// A value for the template; JSON if it parses, else text
    #[arg(long, value_name = "K=V", num_args = 1..)]
    pub(crate) context: Vec<String>,
    /// A JSON or YAML file of values
    #[arg(long, value_name = "FILE")]
    pub(crate) context_file: Option<PathBuf>,
    /// The working directory [default: the workspace]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The agent's name [default: as configured]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) occasion: OccasionArgs,
    /// Show it again whenever a file changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// The message, or - for all of standard input [default: read lines from the terminal or standard input]
    pub(crate) message: Vec<String>,
    /// The user [default: the user at this terminal]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// The message's channel [default: terminal:default]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// The situation: dm, group, system, or a configured one [default: dm]
    #[arg(long, value_name = "NAME")]
    pub(crate) situation: Option<String>,
    /// The agent of a new conversation [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The model, as provider/name [default: as configured]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The id of the conversation to continue [default: a new conversation]
    #[arg(long, value_name = "ID", conflicts_with = "resume")]
    pub(crate) conversation: Option<String>,
    /// Continue your last conversation
    #[arg(short = 'c', long = "continue")]
    pub(crate) resume: bool,
    /// The working directory of the conversation; stored with it [default: the current directory, if it is allowed]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// The stored settings of a conversation, except for its working directory, whose default differs per command.
#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    /// Instructions for this conversation; stored with it
    #[arg(long, value_name = "TEXT")]
    pub(crate) session_instructions: Option<String>,
    /// A value for templates, JSON if it parses, else text; stored with the conversation
    #[arg(long, value_name = "K=V")]
    pub(crate) context: Vec<String>,
    /// A JSON or YAML file of values for templates
    #[arg(long, value_name = "FILE")]
    pub(crate) context_file: Option<PathBuf>,
}

impl ChatArgs {
    /// The message on the command line.
    pub(crate) fn message(&self) -> Option<String> {
        (!self.message.is_empty()).then(|| self.message.join(" "))
    }
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) who: PrincipalArgs,
    /// The user's conversation: other users than the owner see only this one
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The first occasion: user=, channel=, situation=, agent=, model=, conversation=, cwd=
    #[arg(long, value_name = "K=V,…", default_value = "")]
    pub(crate) a: String,
    /// The second occasion
    #[arg(long, value_name = "K=V,…", default_value = "")]
    pub(crate) b: String,
}
