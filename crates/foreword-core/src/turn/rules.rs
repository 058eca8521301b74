//! What holds for a turn from its beginning to its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreword_prompt::tool::ToolSpec;
use serde::{Deserialize, Serialize};

use crate::limits::TurnLimits;
use crate::retry::RetryPolicy;
use crate::taint::Taint;

/// What holds for a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The tools its trust permits, by name. There are no others.
    pub tools: Arc<BTreeMap<String, ToolRule>>,
    /// How long it may take, and how much it may do.
    pub limits: TurnLimits,
    /// What to do when the model can't be reached.
    pub retry: RetryPolicy,
    /// Who is there.
    pub presence: Presence,
    /// How long the owner is waited for.
    pub owner_patience: Duration,
    /// What it has read from outside before it began.
    pub taint: Taint,
}

impl Default for Rules {
    /// No tools, the usual limits, somebody at a screen who is not the owner.
    fn default() -> Self {
        Self {
            tools: Arc::default(),
            limits: TurnLimits::default(),
            retry: RetryPolicy::default(),
            presence: Presence::Somebody,
            owner_patience: Duration::from_secs(300),
            taint: Taint::Clean,
        }
    }
}

/// Who is there while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// The owner, who can be asked.
    Owner,
    /// Somebody at a screen who sees an error and can try again, but confirms nothing.
    Somebody,
    /// Nobody: a bridge, an inbox, a schedule. What fails is tried again later.
    Nobody,
}

/// What holds for a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolRule {
    /// The tool.
    pub spec: ToolSpec,
    /// Whether a call changes something in the world.
    pub side_effects: bool,
    /// Whether it is refused to a turn that has read text from outside, unless the owner allows it.
    pub sensitive: bool,
    /// How often a turn may call it.
    pub most_per_turn: Option<u32>,
}
