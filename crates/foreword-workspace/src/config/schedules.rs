//! What runs by the clock, checked.

use std::sync::Arc;

use foreword_core::cron::Cron;
use foreword_core::schedule::{Missed, Timing};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::ConfiguredSettings;

/// The file a heartbeat says.
pub const HEARTBEAT_FILE: &str = "HEARTBEAT.md";

/// Something that runs by the clock.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Its name, unique in the workspace.
    pub name: Arc<str>,
    /// When.
    pub cron: Cron,
    /// The time zone that is read in; the machine's, if none is named.
    pub time_zone: Option<TimeZone>,
    /// What it does.
    pub action: Action,
    /// What becomes of firings that were missed.
    pub missed: Missed,
    /// For whom it runs.
    pub user: Arc<str>,
    /// Another agent than the one the configuration begins with.
    pub agent: Option<Arc<str>>,
    /// Another model than the agent's.
    pub model: Option<Arc<str>>,
    /// The settings of its conversation.
    pub settings: ConfiguredSettings,
    /// Whether it fires at all.
    pub enabled: bool,
}

/// What a schedule does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Says this to the agent.
    Prompt(Arc<str>),
    /// Says what HEARTBEAT.md says.
    Heartbeat,
    /// Runs a workflow.
    Workflow {
        /// Which. It may not be there.
        name: Arc<str>,
        /// What it is given. It may not fit.
        parameters: Map<String, Value>,
    },
    /// Answers the inbox, or gives the agent time of its own.
    Tick,
    /// Summarises conversations that have grown long.
    Compact,
}

impl Action {
    /// In one word, as it is written in the configuration.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Prompt(_) => "prompt",
            Self::Heartbeat => "heartbeat",
            Self::Workflow { .. } => "workflow",
            Self::Tick => "tick",
            Self::Compact => "compact",
        }
    }
}

impl Schedule {
    /// The time zone its cron text is read in, on a machine that is in `machine`.
    #[must_use]
    pub fn zone<'a>(&'a self, machine: &'a TimeZone) -> &'a TimeZone {
        self.time_zone.as_ref().unwrap_or(machine)
    }

    /// When it fires, as it is stored, on a machine that is in `machine`.
    #[must_use]
    pub fn timing(&self, machine: &TimeZone) -> Timing {
        let zone = self.zone(machine);
        Timing {
            cron: self.cron.as_str().to_owned(),
            // A machine may know how far it is from UTC and not where that is.
            time_zone: zone.iana_name().unwrap_or("local").to_owned(),
            enabled: self.enabled,
        }
    }
}
