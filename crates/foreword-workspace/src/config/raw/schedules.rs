//! Section `schedules` as people write it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

/// Something that runs by the clock, and one of `prompt`, `heartbeat`, `workflow`, `tick` and `compact`: what it does.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSchedule {
    /// When: `minute hour day month weekday`, such as `0 7 * * mon-fri`, or `@hourly`, `@daily`, `@weekly`, `@monthly`.
    #[schemars(with = "String")]
    pub cron: Spanned<String>,
    /// The time zone that is read in, such as `Europe/Berlin`. Default: the machine's.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub time_zone: Option<Spanned<String>>,
    /// Says this to the agent.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub prompt: Option<Spanned<String>>,
    /// Says what HEARTBEAT.md says; nothing, if it says nothing.
    #[serde(default)]
    pub heartbeat: bool,
    /// Runs this workflow.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub workflow: Option<Spanned<String>>,
    /// What the workflow is given, by name.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// Answers the inbox, or gives the agent time of its own if it is empty.
    #[serde(default)]
    pub tick: bool,
    /// Summarises conversations that have grown long.
    #[serde(default)]
    pub compact: bool,
    /// What becomes of firings that were missed: `run_once`, one for all of them, or `skip`. Default: `run_once`.
    #[serde(default)]
    pub missed: RawMissed,
    /// For whom it runs. Default: the first user who is trusted fully.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub user: Option<Spanned<String>>,
    /// Another agent of the workspace.
    #[serde(default)]
    pub agent: Option<String>,
    /// Another model, as `provider/name`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub model: Option<Spanned<String>>,
    /// Instructions for the schedule's conversation alone.
    #[serde(default)]
    pub session_instructions: Option<String>,
    /// The working directory of the schedule's conversation: in the workspace, or below one of `conversations.cwd_roots`.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Values for templates in the schedule's conversation.
    #[serde(default)]
    pub context: Option<Map<String, Value>>,
    /// Whether it fires at all. Default: true.
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

/// What becomes of firings that were missed.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RawMissed {
    /// One stands for all of them.
    #[default]
    RunOnce,
    /// They are skipped.
    Skip,
}
