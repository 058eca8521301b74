//! The words of the command line and their help.

pub(crate) mod agents;
pub(crate) mod conversations;
pub(crate) mod inbox;
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
use mcp::McpArgs;
use memory::{MemoryCommand, WhoArgs};
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
Five minutes from nothing to a prompt you trust:
  foreword init home                                        make a workspace
  foreword -w home build                                    the prompt you get
  foreword -w home build --user bob --situation group       the prompt bob gets in the group
  foreword -w home explain --user bob --situation group     why each piece is there, and its price
  foreword -w home check                                    every mistake, with its line

Exit codes: 0 done, 1 what was asked for failed, 2 usage, 3 configuration or template refused.";

/// The words an LLM agent reads first: the right system prompt for this person, in this place, at this moment.
#[derive(Debug, Parser)]
#[command(name = "foreword", version, after_help = AFTER_HELP, max_term_width = 110)]
pub(crate) struct Cli {
    /// The workspace's directory [default: the current one]
    #[arg(short, long, global = true, value_name = "DIR", env = "FOREWORD_WORKSPACE")]
    pub(crate) workspace: Option<PathBuf>,
    /// Use the directory as it is, though it has neither `foreword.yaml` nor `.foreword/`
    #[arg(long, global = true)]
    pub(crate) here: bool,
    /// Print JSON, errors included
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a workspace that works at once, with the offline model
    #[command(
        after_help = "Examples:\n  foreword init\n  foreword init house --blueprint gateway\n  foreword init keeper --blueprint sovereign"
    )]
    Init(InitArgs),
    /// Print the prompt for an occasion
    #[command(
        after_help = "Examples:\n  foreword build\n  foreword build --user bob --channel signal:bob --situation group\n  foreword build --format anthropic --model anthropic/claude-sonnet-4-6\n  foreword build --context locale=pt-PT --context-file context.json"
    )]
    Build(BuildArgs),
    /// Render a template file once; nothing is stored
    #[command(
        after_help = "Examples:\n  foreword render prompts/system.md\n  foreword render AGENT.md --dialect jinja --context user_id=u-42\n  echo 'Today is [system:date].' | foreword render -"
    )]
    Render(RenderArgs),
    /// Show why each piece of a prompt is there, what it weighs, what is withheld, and what a turn costs
    #[command(
        after_help = "Examples:\n  foreword explain\n  foreword explain --user bob --situation group\n  foreword explain --model anthropic/claude-sonnet-4-6 --watch"
    )]
    Explain(ExplainArgs),
    /// Show what changes between two occasions, layer by layer
    #[command(
        after_help = "Examples:\n  foreword diff --a user=alice --b user=bob,situation=group\n  foreword diff --b model=openai/gpt-5.4"
    )]
    Diff(DiffArgs),
    /// Work out what a conversation will cost under a provider's prompt cache, and what it would cost built otherwise
    Simulate(SimulateArgs),
    /// Talk to the agent in the terminal
    #[command(
        after_help = "Examples:\n  foreword chat\n  foreword chat \"what's Carol's birthday?\"\n  foreword chat --user bob --situation group \"what's Carol's birthday?\"\n  foreword chat --continue\n  foreword chat --model anthropic/claude-haiku-4-5\n  git log -5 | foreword chat -\n\nIn the chat, /help lists its commands. Answers go to standard output, everything about them to standard error."
    )]
    Chat(ChatArgs),
    /// Keep the agent alive: what runs by the clock runs, until Ctrl-C
    #[command(
        after_help = "Examples:\n  foreword run\n  foreword -w home run\n  foreword --json run    one JSON object a line on standard output\n\nStandard output has the log: lines of JSON, at a terminal lines for people (section `logging` of\nforeword.yaml). What was missed while nothing ran is made up for or skipped, as each schedule says. Several processes\nmay run on one store: each firing is had by one of them."
    )]
    Run,
    /// Keep the agent alive and reachable: HTTP, WebSocket, drop-in endpoints for Anthropic and OpenAI clients
    #[command(after_help = serve::AFTER_HELP)]
    Serve(ServeArgs),
    /// Tokens that open the HTTP interface: create, list, revoke
    #[command(subcommand)]
    Token(TokenCommand),
    /// Give another agent memory, prompts and the log, over the Model Context Protocol on standard input and output
    #[command(
        after_help = "Examples:\n  claude mcp add foreword -- foreword -w ~/home mcp\n  claude mcp add foreword-bob -- foreword -w ~/home mcp --user bob\n\nThe client starts this program; what it may use is what the user may. With `FOREWORD_TOKEN` in the environment the\ntoken says who asks and what is open. `foreword serve` offers the same over HTTP at /mcp."
    )]
    Mcp(McpArgs),
    /// What runs by the clock: list, show, run now, and what became of past firings
    #[command(
        after_help = "Examples:\n  foreword schedules\n  foreword schedules show morning\n  foreword schedules run morning\n  foreword schedules history morning --limit 5\n\nSchedules are written in foreword.yaml, section `schedules`; `foreword run` fires them."
    )]
    Schedules(SchedulesArgs),
    /// Show how the agent is running: channels, conversations, memory and the latest errors
    #[command(
        after_help = "Examples:\n  foreword status\n  foreword status --user bob --situation group    what bob would be told in the group\n  foreword status --user bob --conversation c-1   what bob would be told in that conversation\n  foreword --json status\n\nThe agent itself sees the same with its tool foreword_status: the owner everything, everybody else\nthe conversation they are in."
    )]
    Status(StatusArgs),
    /// Show what happened, the newest last
    #[command(
        after_help = "Examples:\n  foreword logs\n  foreword logs --level error --since 12h\n  foreword logs --type api_error --limit 5\n  foreword logs --user alice --since today\n  foreword logs --follow\n  foreword --json logs --session c-1          one JSON object a line\n  foreword logs --as bob --conversation c-1   what bob would be told in that conversation\n\nThe agent itself sees the same with its tool foreword_logs."
    )]
    Logs(LogsArgs),
    /// Show one turn as a tree: every call, tool and wait with its time, tokens and cost
    #[command(
        after_help = "Examples:\n  foreword trace last\n  foreword trace t-066064fa4b\n  foreword --json trace last\n\nThe agent itself sees the same with its tool foreword_trace."
    )]
    Trace(TraceArgs),
    /// Show why prompt-cache reads missed: where the prefix diverged, the cause, the money
    #[command(
        after_help = "Examples:\n  foreword cache                        all conversations of the last 30 days\n  foreword cache --conversation c-1     one of them\n  foreword --json cache --since today\n\nEach request is compared with the one before it in its conversation, by hashes: no text is kept for it.\nA provider that does not report what it read is said to be `not reported`, never 0 %."
    )]
    Cache(CacheArgs),
    /// Show what was spent: by day, conversation, user, model or agent
    #[command(
        after_help = "Examples:\n  foreword cost                          the last 30 days, and today\n  foreword cost --by session             which conversation used the most\n  foreword cost --by model --since 7d\n  foreword --json cost --since today\n\nFrom the events of calls to models, as long as `events.retention_days` keeps them."
    )]
    Cost(CostArgs),
    /// The tools the agent has, and the servers some of them come from
    Tools(ToolsArgs),
    /// Find every problem in configuration, blueprints, templates and files
    Check,
    /// The stored template of blueprint `template`: get, set, history, variables
    #[command(subcommand)]
    Template(TemplateCommand),
    /// The agents of the workspace, and giving a conversation from one to another
    #[command(
        after_help = "Examples:\n  foreword agents\n  foreword agents show clerk\n  foreword agents hand-over CONVERSATION clerk --reason 'a letter to answer'"
    )]
    Agents(AgentsArgs),
    /// The layers of the prompt, and the texts of those that can be changed
    Layers(LayersArgs),
    /// What the agent remembers: list, search, read and add to it
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// The workflows: list, show, run and resume them, and see past runs
    #[command(
        after_help = "Examples:\n  foreword workflows\n  foreword workflows show disk-report\n  foreword workflows run disk-report path=/srv top=5\n  foreword workflows runs\n  foreword workflows status RUN\n  foreword workflows resume RUN"
    )]
    Workflows(WorkflowsArgs),
    /// Conversations: which there are, and everything that was ever said in one
    #[command(subcommand)]
    Conversations(ConversationsCommand),
    /// What the agent can look up how to do: list and show skills
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  foreword skills\n  foreword skills --user bob --situation group\n  foreword skills show weekly-report\n\nA skill is a folder with a file: skills/<name>/SKILL.md for everybody, users/<user>/skills/<name>/SKILL.md for\none user alone."
    )]
    Skills(SkillsArgs),
    /// Who writes to the agent's inbox, and what was said
    #[command(subcommand)]
    Senders(SendersCommand),
    /// Messages that others leave for the agent: bring one, list, show, try again
    #[command(subcommand)]
    Inbox(InboxCommand),
    /// What the agent left for others, for whoever delivers it
    #[command(subcommand)]
    Outbox(OutboxCommand),
    /// One beat of the agent's life: answer a batch of the inbox, or take a turn of its own
    #[command(
        after_help = "Examples:\n  foreword inbox stage --from 0xA11CE \"hello\" && foreword tick\n  foreword tick                  with nothing in the inbox: a turn of the agent's own\n  foreword --json tick           one JSON object a line, the last of type `ticked`\n\nExit code 1 if the turn failed; its messages wait for another one."
    )]
    Tick,
    /// Write what is stored for other programs to read
    #[command(subcommand)]
    Export(ExportCommand),
    /// The store itself: check, back up, restore
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
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Where to make it [default: the workspace, else the current directory]
    pub(crate) dir: Option<PathBuf>,
    /// The layers to start from: gateway, vm, sovereign, template or agent
    #[arg(long, default_value = "gateway", value_name = "B")]
    pub(crate) blueprint: String,
}

/// Who speaks, where, to whom.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OccasionArgs {
    /// Who speaks [default: whoever the channel belongs to]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Where the message comes from, such as signal:+15550100 [default: terminal:default]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// The kind of place: dm, group, system, or one of your own [default: dm]
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
    /// A value for templates, or a line of a sovereign agent's state; JSON where it parses, else text
    #[arg(long, value_name = "K=V", num_args = 1..)]
    pub(crate) context: Vec<String>,
    /// A JSON or YAML file of values for templates
    #[arg(long, value_name = "FILE")]
    pub(crate) context_file: Option<PathBuf>,
    /// Instructions for this conversation alone
    #[arg(long, value_name = "TEXT")]
    pub(crate) session_instructions: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// As the model reads it
    Text,
    /// With every layer, range and hash
    Json,
    /// As the body of an Anthropic Messages request
    Anthropic,
    /// As the body of an OpenAI chat request
    Openai,
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    #[command(flatten)]
    pub(crate) occasion: OccasionArgs,
    /// How to print it [default: text, or json with --json]
    #[arg(long, value_enum)]
    pub(crate) format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    /// `[type:name]` and `[if type:name]`; unknown types stay as they are
    Bracket,
    /// The same, but every unknown `[type:name]` is blank
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
    /// Its language [default: the configured prompt.dialect]
    #[arg(long, value_enum)]
    pub(crate) dialect: Option<DialectArg>,
    /// A value for the template; JSON where it parses, else text
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
    /// Show it again whenever a file changes, until interrupted
    #[arg(long)]
    pub(crate) watch: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    /// What to say, or - for all of standard input; left out, lines are read from the terminal or standard input
    pub(crate) message: Vec<String>,
    /// Who speaks [default: whoever sits at the terminal]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Where the message comes from [default: terminal:default]
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// The kind of place: dm, group, system, or one of your own [default: dm]
    #[arg(long, value_name = "NAME")]
    pub(crate) situation: Option<String>,
    /// The agent to talk to, in a new conversation [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The model, as provider/name [default: as configured]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The conversation to go on with, by its id [default: a new one]
    #[arg(long, value_name = "ID", conflicts_with = "resume")]
    pub(crate) conversation: Option<String>,
    /// Go on with your last conversation
    #[arg(short = 'c', long = "continue")]
    pub(crate) resume: bool,
    /// Instructions for this conversation alone; stored with it
    #[arg(long, value_name = "TEXT")]
    pub(crate) session_instructions: Option<String>,
    /// The working directory of the conversation; stored with it [default: the current directory, if it is allowed]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A value for templates, JSON where it parses, else text; all of them are stored with the conversation
    #[arg(long, value_name = "K=V")]
    pub(crate) context: Vec<String>,
    /// A JSON or YAML file of values for templates
    #[arg(long, value_name = "FILE")]
    pub(crate) context_file: Option<PathBuf>,
}

impl ChatArgs {
    /// What to say, if it was said on the command line.
    pub(crate) fn message(&self) -> Option<String> {
        (!self.message.is_empty()).then(|| self.message.join(" "))
    }
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) who: WhoArgs,
    /// The conversation they are in, by its id: whoever is no owner sees that one alone
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
