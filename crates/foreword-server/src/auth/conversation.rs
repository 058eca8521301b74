//! Which conversations somebody may look into, and how much of them. The owner sees all; everybody else sees those they take
//! part in, and of those what was said at a trust that theirs permits. One that may not be seen looks like one that is not
//! there.

use std::sync::Arc;

use foreword_agent::inbound::Occasion;
use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_store::conversations::Conversation;
use foreword_workspace::config::Config;
use foreword_workspace::request::DIRECT;

use super::Caller;
use crate::app::App;
use crate::problem::Problem;

/// A conversation that somebody may look into.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) conversation: Conversation,
    /// The trust it is seen with.
    pub(crate) trust: Trust,
}

impl Seen {
    /// Whether something of that trust may be shown.
    pub(crate) fn permits(&self, trust: Trust) -> bool {
        self.trust.permits(trust)
    }
}

/// Whoever looks on: a user, and how far they are trusted where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Onlooker {
    user: Option<Arc<str>>,
    situation: Arc<str>,
    trust: Trust,
}

impl Onlooker {
    /// The caller, as themselves.
    pub(crate) fn caller(caller: &Caller, config: &Config) -> Self {
        Self { user: Some(caller.user().into()), situation: DIRECT.into(), trust: caller.trust(config) }
    }

    /// Whoever speaks on this occasion, trusted as far as the place allows: more than they say there is not said to them
    /// there either. Somebody who is not known is called what their messages call them, after the channel.
    pub(crate) fn speaker(occasion: &Occasion, config: &Config) -> Self {
        let known = config.speaker(occasion.user.as_deref(), occasion.channel.as_ref());
        let stranger = || occasion.channel.as_ref().map(|channel| channel.as_str().into());
        let user = known.map(|user| Arc::clone(&user.name)).or_else(stranger);
        let trust = config.trust(known, occasion.situation()).effective();
        Self { user, situation: occasion.situation().into(), trust }
    }

    /// How far they are trusted.
    pub(crate) fn trust(&self) -> Trust {
        self.trust
    }

    /// The same by a newer configuration.
    pub(crate) fn look_again(&mut self, config: &Config) {
        let known = self.user.as_deref().and_then(|name| config.user(name));
        self.trust = config.trust(known, &self.situation).effective();
    }
}

/// The conversation as the caller may see it.
pub(crate) async fn may_see(app: &App, caller: &Caller, id: &ConversationId) -> Result<Seen, Problem> {
    may_see_as(app, &Onlooker::caller(caller, &app.config()), id).await
}

/// The same for somebody whom the caller speaks for.
pub(crate) async fn may_see_as(app: &App, who: &Onlooker, id: &ConversationId) -> Result<Seen, Problem> {
    let unknown = || Problem::not_found("conversation", id.as_str());
    let conversation = app.store.conversation(id).await?.ok_or_else(unknown)?;
    let seen = Seen { conversation, trust: who.trust };
    if who.trust.permits(Trust::Full) {
        return Ok(seen);
    }
    // Nobody's conversation is not everybody's.
    let user = who.user.as_deref().ok_or_else(unknown)?;
    let began_it = seen.conversation.user.as_deref() == Some(user);
    if began_it || app.store.has_spoken(id, user).await? { Ok(seen) } else { Err(unknown()) }
}
