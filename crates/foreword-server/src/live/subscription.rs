//! Somebody who looks on at one conversation: up to which number they have read, and what they may see.

use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use http::StatusCode;
use serde::Serialize;
use tokio::sync::Notify;
use utoipa::ToSchema;

use super::hub::{Channel, PAGE};
use super::shown::Shown;
use crate::app::App;
use crate::auth::{Onlooker, may_see_as};

/// Somebody who looks on at one conversation.
pub(super) struct Subscription {
    channel: Arc<Channel>,
    listener: Arc<Notify>,
    /// The last number they have read.
    after: u64,
    /// Whether they were up to date before.
    kept_up: bool,
    pub(super) who: Onlooker,
}

/// What a reader gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Read {
    /// Something that happened.
    Item(Shown),
    /// They have fallen behind.
    Missed(Missed),
}

/// The reader was too slow, or away for too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "type", rename = "missed", rename_all = "camelCase")]
pub(crate) struct Missed {
    #[schema(value_type = String)]
    session_id: ConversationId,
    /// The number of the first event that was missed.
    from: u64,
    /// The number of the last one.
    to: u64,
    catch_up: CatchUp,
}

/// Where the missed events are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub(crate) enum CatchUp {
    /// They follow now.
    Replay,
    /// They are no longer stored; the messages of the conversation are.
    Messages {
        /// The path of the messages.
        href: String,
    },
}

impl Missed {
    /// To JSON, which texts and numbers have.
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Subscription {
    /// From behind number `after` on; `listener` is told when there is more.
    pub(super) fn new(channel: Arc<Channel>, who: Onlooker, after: u64, listener: &Arc<Notify>) -> Self {
        channel.listen(listener);
        Self { channel, listener: Arc::clone(listener), after, kept_up: false, who }
    }

    pub(super) fn conversation(&self) -> &ConversationId {
        &self.channel.conversation
    }

    /// Looks again how far they are trusted, and whether they may still look into the conversation. A database that is away
    /// can't say otherwise.
    pub(super) async fn is_still_seen(&mut self, app: &App) -> bool {
        self.who.look_again(&app.config());
        let seen = may_see_as(app, &self.who, self.conversation()).await;
        !seen.is_err_and(|problem| problem.status() == StatusCode::NOT_FOUND)
    }

    /// Whether there is something to read.
    pub(super) fn has_more(&self) -> bool {
        self.channel.last() > self.after
    }

    /// Reads from behind another number on.
    pub(super) fn move_to(&mut self, after: u64) {
        (self.after, self.kept_up) = (after, false);
    }

    /// What follows: some of it, or nothing if there is nothing.
    pub(super) async fn read(&mut self, store: &Store) -> Result<Vec<Read>, StoreError> {
        if !self.has_more() {
            self.kept_up = true;
            return Ok(Vec::new());
        }
        if let Some(items) = self.channel.kept_after(self.after) {
            return Ok(self.taken(items));
        }
        let page =
            store.stream(self.conversation(), self.after, u32::try_from(PAGE).unwrap_or(u32::MAX)).await?;
        let next = page.items.first().map_or(page.last + 1, |first| first.seq);
        let mut read: Vec<Read> = self.fell_behind(next, page.last).into_iter().map(Read::Missed).collect();
        self.after = self.after.max(next - 1);
        let heading = self.channel.heading.clone();
        let items = page.items.iter().map(|item| heading.show(item.seq, item.trust, &item.item)).collect();
        read.extend(self.taken(items));
        Ok(read)
    }

    /// What somebody is told who is at number `next` now, and was elsewhere before.
    fn fell_behind(&mut self, next: u64, last: u64) -> Option<Missed> {
        let was_passed = std::mem::replace(&mut self.kept_up, false) && self.channel.has_passed(self.after);
        let (from, session_id) = (self.after + 1, self.conversation().clone());
        if next > from {
            let href = format!("/api/v1/conversations/{session_id}/messages");
            return Some(Missed { session_id, from, to: next - 1, catch_up: CatchUp::Messages { href } });
        }
        let missed = Missed { session_id, from, to: last, catch_up: CatchUp::Replay };
        was_passed.then_some(missed)
    }

    fn taken(&mut self, items: Vec<Shown>) -> Vec<Read> {
        if let Some(last) = items.last() {
            self.after = self.after.max(last.seq);
        }
        let trust: Trust = self.who.trust();
        items.into_iter().filter(|item| trust.permits(item.trust)).map(Read::Item).collect()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.channel.leave(&self.listener);
    }
}
