//! Inbound messages and the origin of turns.

use foreword_core::id::ConversationId;
use foreword_core::message::Provenance;
use foreword_prompt::trust::Trust;
use foreword_store::messages::IdempotencyKey;
use foreword_workspace::request::{DIRECT, Request};
use foreword_workspace::speaker::{Principal, Speaker};

pub use crate::conversation::purpose::Purpose;
use crate::shared::Shared;

/// The situation of turns that answer the inbox.
pub const INBOX: &str = "inbox";
/// The situation of schedules and of the agent's own turns.
pub const SYSTEM: &str = "system";

/// A message to the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Inbound {
    /// The conversation. It is created if it does not exist.
    pub conversation: ConversationId,
    /// The sender, the purpose and the attendance.
    pub origin: TurnOrigin,
    /// The text of the message.
    pub text: String,
    /// The idempotency key: a repeated message is answered once.
    pub key: Option<IdempotencyKey>,
}

/// The origin of a turn: who started it, for what purpose, and who watches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnOrigin {
    /// The sender and the place.
    pub speaker: Speaker,
    /// The purpose of the turn.
    pub purpose: Purpose,
    /// Whether a user watches the turn.
    pub attendance: Attendance,
}

/// Whether a user watches the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Attendance {
    /// A user sees errors immediately, can be asked, and can retry.
    #[default]
    Interactive,
    /// A bridge, the inbox or a schedule. Failures are retried later.
    Unattended,
}

impl TurnOrigin {
    /// The name of the situation.
    #[must_use]
    pub fn situation(&self) -> &str {
        self.speaker.situation.as_deref().unwrap_or(DIRECT)
    }

    /// The speaker, limited to the trust of the purpose.
    pub(crate) fn limited_speaker(&self) -> Speaker {
        Speaker { audience: self.purpose.ceiling(), ..self.speaker.clone() }
    }

    /// A request for this speaker's prompt at the current time.
    pub(crate) fn request(&self, shared: &Shared) -> Request {
        Request { speaker: self.limited_speaker(), ..Request::at(shared.clock_and_rng.now(), [0; 16]) }
    }

    /// The principal under the current configuration.
    pub(crate) fn principal(&self, shared: &Shared) -> Principal {
        let snapshot = shared.workspace.snapshot();
        self.limited_speaker().resolve(&snapshot.config, None, &shared.clock_and_rng.now())
    }
}

/// Whether several people can read the answers in a situation.
///
/// ```
/// use foreword_agent::conversation::inbound::is_shared;
///
/// assert!(is_shared("group") && !is_shared("dm"));
/// ```
#[must_use]
pub fn is_shared(situation: &str) -> bool {
    !matches!(situation, DIRECT | INBOX | SYSTEM)
}

/// The provenance of a principal's messages.
pub(crate) fn provenance(principal: &Principal) -> Provenance {
    match &principal.user {
        None => Provenance::Outside,
        Some(user) if user.trust == Trust::Full => Provenance::Owner,
        Some(_) => Provenance::User,
    }
}
