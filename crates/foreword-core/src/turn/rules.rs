//! The rules of a turn.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreword_prompt::tool::ToolSpec;
use serde::{Deserialize, Serialize};

use crate::limits::TurnLimits;
use crate::retry::RetryPolicy;
use crate::taint::Taint;

/// The rules of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRules {
    /// All available tools, by name.
    pub tools: Arc<BTreeMap<String, ToolRule>>,
    /// Limits on time and calls.
    pub limits: TurnLimits,
    /// The retry policy for model calls.
    pub retry: RetryPolicy,
    /// Who attends the turn.
    #[serde(alias = "presence")]
    pub attendance: TurnAttendance,
    /// How long to wait for the owner's answer.
    pub owner_patience: Duration,
    /// Text from outside that was read before the turn.
    pub taint: Taint,
}

impl Default for TurnRules {
    /// No tools, default limits, an interactive user who is not the owner.
    fn default() -> Self {
        Self {
            tools: Arc::default(),
            limits: TurnLimits::default(),
            retry: RetryPolicy::default(),
            attendance: TurnAttendance::Interactive,
            owner_patience: Duration::from_secs(300),
            taint: Taint::Clean,
        }
    }
}

/// Who attends a turn while it runs. `foreword_agent` derives it from the origin's attendance and the principal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnAttendance {
    /// The owner, who can be asked.
    Owner,
    /// An interactive user who sees errors and can retry, but cannot confirm calls.
    #[serde(rename = "interactive", alias = "somebody")]
    Interactive,
    /// A bridge, an inbox or a schedule. Failed calls are retried later.
    #[serde(rename = "unattended", alias = "nobody")]
    Unattended,
}

/// The rule for a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolRule {
    /// The tool.
    pub spec: ToolSpec,
    /// Whether a call has side effects.
    pub side_effects: bool,
    /// Whether a tainted turn needs the owner's consent to call it.
    pub sensitive: bool,
    /// The maximum number of calls per turn.
    pub most_per_turn: Option<u32>,
}
