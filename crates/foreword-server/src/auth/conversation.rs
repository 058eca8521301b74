//! Access to conversations. The owner sees all; other users see those they take part in, and of these the messages that
//! their trust permits. A conversation that may not be seen is not found.

use std::sync::Arc;

use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::Conversation;
use foreword_workspace::config::Config;
use foreword_workspace::request::DIRECT;

use super::Caller;
use crate::app::App;
use crate::problem::Problem;

/// A conversation that the reader may see.
#[derive(Debug, Clone)]
pub(crate) struct VisibleConversation {
    pub(crate) conversation: Conversation,
    /// The reader's trust.
    pub(crate) trust: Trust,
}

impl VisibleConversation {
    /// Whether content of that trust may be shown.
    pub(crate) fn permits(&self, trust: Trust) -> bool {
        self.trust.permits(trust)
    }
}

/// A user, and their trust in the current situation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reader {
    user: Option<Arc<str>>,
    situation: Arc<str>,
    trust: Trust,
}

impl Reader {
    pub(crate) fn caller(caller: &Caller, config: &Config) -> Self {
        Self { user: Some(caller.user().into()), situation: DIRECT.into(), trust: caller.trust(config) }
    }

    /// The user of an occasion, with the trust that its situation allows. An unknown user is named by the channel.
    pub(crate) fn speaker(occasion: &TurnOrigin, config: &Config) -> Self {
        let known = config.speaker(occasion.speaker.user.as_deref(), occasion.speaker.channel.as_ref());
        let stranger = || occasion.speaker.channel.as_ref().map(|channel| channel.as_str().into());
        let user = known.map(|user| Arc::clone(&user.name)).or_else(stranger);
        let trust = config.trust(known, occasion.situation()).effective();
        Self { user, situation: occasion.situation().into(), trust }
    }

    pub(crate) fn trust(&self) -> Trust {
        self.trust
    }

    /// Recomputes the trust with a new configuration.
    pub(crate) fn refresh_trust(&mut self, config: &Config) {
        let known = self.user.as_deref().and_then(|name| config.user(name));
        self.trust = config.trust(known, &self.situation).effective();
    }
}

/// The conversation, if the caller may see it.
pub(crate) async fn find_visible(
    app: &App,
    caller: &Caller,
    id: &ConversationId,
) -> Result<VisibleConversation, Problem> {
    find_visible_as(app, &Reader::caller(caller, &app.config()), id).await
}

/// The conversation, if the reader may see it.
pub(crate) async fn find_visible_as(
    app: &App,
    reader: &Reader,
    id: &ConversationId,
) -> Result<VisibleConversation, Problem> {
    let unknown = || Problem::not_found("conversation", id.as_str());
    let conversation = app.store.conversation(id).await?.ok_or_else(unknown)?;
    let seen = VisibleConversation { conversation, trust: reader.trust };
    if reader.trust.permits(Trust::Full) {
        return Ok(seen);
    }
    // An anonymous reader sees no conversation.
    let user = reader.user.as_deref().ok_or_else(unknown)?;
    let began_it = seen.conversation.user.as_deref() == Some(user);
    if began_it || app.store.has_written(id, user).await? { Ok(seen) } else { Err(unknown()) }
}
