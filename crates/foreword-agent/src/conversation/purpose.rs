//! The purpose of a turn, and the policies that depend on it: tools, retries, provenance and trust.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::id::InboxId;
use foreword_core::message::Provenance;
use foreword_core::retry::RetryPolicy;
use foreword_core::sender::{MAX_REPLIES_PER_MESSAGE, REPLY_TOOL};
use foreword_core::tools::inbox_tools;
use foreword_core::turn::ToolRule;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;
use serde::{Deserialize, Serialize};

use crate::tool::sets::ToolSet;

/// The purpose of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Answers a message of a conversation.
    #[default]
    Talk,
    /// Answers a batch of inbox messages.
    Inbox {
        /// The messages of the batch.
        messages: Vec<InboxId>,
    },
    /// The agent's own turn, without any message.
    Alone,
    /// Runs a step of a workflow.
    Workflow {
        /// The running workflows, the outermost first.
        within: Vec<String>,
        /// Whether the step's text may contain untrusted content.
        #[serde(default)]
        tainted: bool,
        /// The effective trust of the user who started the workflow. No step has more.
        #[serde(default)]
        ceiling: Option<Trust>,
    },
}

impl Purpose {
    /// Whether the agent itself generates the first message of the turn.
    pub(crate) fn is_self_initiated(&self) -> bool {
        matches!(self, Self::Inbox { .. } | Self::Alone)
    }

    /// Whether the turn's message may contain untrusted content, regardless of its author.
    pub(crate) fn is_tainted(&self) -> bool {
        matches!(self, Self::Workflow { tainted: true, .. })
    }

    /// The upper bound of the turn's trust.
    pub(crate) fn ceiling(&self) -> Option<Trust> {
        match self {
            Self::Workflow { ceiling, .. } => *ceiling,
            Self::Talk | Self::Inbox { .. } | Self::Alone => None,
        }
    }

    /// The provenance of a message that starts the turn and whose author has the provenance `author`.
    pub(crate) fn message_provenance(&self, author: Provenance) -> Provenance {
        if self.is_self_initiated() {
            Provenance::Agent
        } else if self.is_tainted() {
            Provenance::Outside
        } else {
            author
        }
    }

    /// The provenance of the text sent to the model for messages of provenance `messages`.
    pub(crate) fn sent_provenance(&self, messages: Provenance) -> Provenance {
        match self {
            // The context contains the inbox messages.
            Self::Inbox { .. } => Provenance::Outside,
            _ => messages,
        }
    }

    /// The retry policy for model calls of the turn.
    pub(crate) fn retry_policy(&self, configured: &RetryPolicy) -> RetryPolicy {
        match self {
            // The inbox is already a queue, in which a message does not delay those of other senders.
            Self::Inbox { .. } => RetryPolicy { max_requeues: 0, ..configured.clone() },
            _ => configured.clone(),
        }
    }

    /// The tools of the turn that are not in the configuration: those of tool servers, then those of the purpose.
    pub(crate) fn extra_tools(&self, outside: &Arc<[ToolSpec]>) -> Arc<[ToolSpec]> {
        match self {
            Self::Inbox { .. } => outside.iter().cloned().chain(inbox_tools()).collect(),
            _ => Arc::clone(outside),
        }
    }

    /// Adds the tools of the purpose to a tool set.
    pub(crate) fn extend_tools(&self, set: ToolSet) -> ToolSet {
        let Self::Inbox { messages } = self else { return set };
        let max_replies = u32::try_from(MAX_REPLIES_PER_MESSAGE * messages.len()).unwrap_or(u32::MAX);
        let mut specs: Vec<ToolSpec> = set.specs.iter().cloned().chain(inbox_tools()).collect();
        specs.sort_by(|one, other| one.name.cmp(&other.name));
        let mut rules: BTreeMap<String, ToolRule> = (*set.rules).clone();
        for spec in inbox_tools() {
            // Replies are sent when the turn ends, so a call alone has no side effects.
            let most_per_turn = (spec.name == REPLY_TOOL).then_some(max_replies);
            let rule = ToolRule { side_effects: false, sensitive: false, most_per_turn, spec: spec.clone() };
            rules.insert(spec.name, rule);
        }
        ToolSet { specs: specs.into(), rules: Arc::new(rules) }
    }
}
