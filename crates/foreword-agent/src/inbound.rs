//! What somebody says to the agent, and on which occasion.

use std::sync::Arc;

use foreword_core::id::{ConversationId, InboxId};
use foreword_core::message::Provenance;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use foreword_store::messages::IdempotencyKey;
use foreword_workspace::config::User;
use foreword_workspace::request::DIRECT;
use serde::{Deserialize, Serialize};

/// The situation of a turn that answers the inbox.
pub const INBOX: &str = "inbox";
/// The situation of a turn that nobody began: a schedule's, or the agent's own.
pub const SYSTEM: &str = "system";

/// Something somebody says.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbound {
    /// In which conversation. It is made if it is not there.
    pub conversation: ConversationId,
    /// On which occasion.
    pub occasion: Occasion,
    /// The words.
    pub text: String,
    /// What the sender calls it, so that the same again is answered once.
    pub key: Option<IdempotencyKey>,
}

/// Who speaks, where, and whether somebody waits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Occasion {
    /// The user's name, asserted by whoever may; else the channel tells.
    pub user: Option<Arc<str>>,
    /// Where the message came from, as `family:identifier`. Default: the terminal.
    pub channel: Option<Channel>,
    /// Who speaks there, as a bridge names them: `signal:+15550100` in `signal:group-7`. Default: the channel tells.
    pub sender: Option<Channel>,
    /// Such as `group`. Default: `dm`.
    pub situation: Option<Arc<str>>,
    /// Another agent of the workspace than the one the configuration begins with.
    pub agent: Option<Arc<str>>,
    /// What the turn is for.
    pub purpose: Purpose,
    /// How far whoever is not known is trusted, where the owner's configuration says it. Default: `public`.
    pub strangers: Option<Trust>,
    /// Another model than the configured one.
    pub model: Option<Arc<str>>,
    /// Whether somebody sits at a screen and sees what happens.
    pub watched: Watched,
}

/// What a turn is for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Somebody says something.
    #[default]
    Talk,
    /// Messages of the inbox wait for an answer.
    Inbox {
        /// Which.
        messages: Vec<InboxId>,
    },
    /// Nobody says anything: the agent's own time.
    Alone,
    /// A step of a workflow.
    Workflow {
        /// The workflows that are under way, the outermost first.
        within: Vec<String>,
        /// Whether the step may hold words from outside.
        #[serde(default)]
        tainted: bool,
        /// The trust of whoever started it, then and there: no step has more.
        #[serde(default)]
        ceiling: Option<Trust>,
    },
}

impl Purpose {
    /// Whether what is said for it may hold words from outside, whoever says it.
    pub(crate) fn is_tainted(&self) -> bool {
        matches!(self, Self::Workflow { tainted: true, .. })
    }

    /// The most trust there is for it.
    pub(crate) fn ceiling(&self) -> Option<Trust> {
        match self {
            Self::Workflow { ceiling, .. } => *ceiling,
            Self::Talk | Self::Inbox { .. } | Self::Alone => None,
        }
    }
}

/// Whether somebody sits at a screen while the agent answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Watched {
    /// They see errors at once, can be asked, and can try again.
    #[default]
    AtScreen,
    /// A bridge, an inbox, a schedule: what fails is tried again later.
    ByNobody,
}

impl Occasion {
    /// The situation's name.
    #[must_use]
    pub fn situation(&self) -> &str {
        self.situation.as_deref().unwrap_or(DIRECT)
    }
}

/// Whether several people hear what is said in a situation.
///
/// ```
/// use foreword_agent::inbound::is_shared;
///
/// assert!(is_shared("group") && !is_shared("dm"));
/// ```
#[must_use]
pub fn is_shared(situation: &str) -> bool {
    !matches!(situation, DIRECT | INBOX | SYSTEM)
}

/// Where the words of `user` come from, whose effective trust is `trust`.
pub(crate) fn provenance(user: Option<&User>) -> Provenance {
    match user {
        None => Provenance::Outside,
        Some(user) if user.trust == Trust::Full => Provenance::Owner,
        Some(_) => Provenance::User,
    }
}
