//! A subscription to a conversation's events: the last number read, and the reader's trust.

use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use http::StatusCode;
use serde::Serialize;
use tokio::sync::Notify;
use utoipa::ToSchema;

use super::hub::{Channel, PAGE_SIZE};
use super::wire_event::WireEvent;
use crate::app::App;
use crate::auth::{Reader, find_visible_as};

/// A subscription to a conversation's events.
pub(super) struct Subscription {
    channel: Arc<Channel>,
    listener: Arc<Notify>,
    /// The last number read.
    after: u64,
    /// Whether the subscriber was up to date before.
    caught_up: bool,
    pub(super) reader: Reader,
}

/// What a subscriber reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReadItem {
    Item(WireEvent),
    Missed(Missed),
}

/// The subscriber was too slow, or disconnected for too long.
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
    /// Serialising strings and numbers can't fail.
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Subscription {
    /// Subscribes after number `after`; `listener` is notified of new events.
    pub(super) fn new(channel: Arc<Channel>, reader: Reader, after: u64, listener: &Arc<Notify>) -> Self {
        channel.listen(listener);
        Self { channel, listener: Arc::clone(listener), after, caught_up: false, reader }
    }

    pub(super) fn conversation(&self) -> &ConversationId {
        &self.channel.conversation
    }

    /// Refreshes the reader's trust, and checks whether they may still see the conversation. If the store fails,
    /// nothing changes.
    pub(super) async fn is_still_visible(&mut self, app: &App) -> bool {
        self.reader.refresh_trust(&app.config());
        let seen = find_visible_as(app, &self.reader, self.conversation()).await;
        !seen.is_err_and(|problem| problem.status() == StatusCode::NOT_FOUND)
    }

    /// Whether there are unread events.
    pub(super) fn has_more(&self) -> bool {
        self.channel.last() > self.after
    }

    /// Continues after another number.
    pub(super) fn move_to(&mut self, after: u64) {
        (self.after, self.caught_up) = (after, false);
    }

    /// The next events; empty if there are none.
    pub(super) async fn read(&mut self, store: &Store) -> Result<Vec<ReadItem>, StoreError> {
        if !self.has_more() {
            self.caught_up = true;
            return Ok(Vec::new());
        }
        if let Some(items) = self.channel.buffered_after(self.after) {
            // A reader of the live buffer that needs the store afterwards has fallen behind.
            self.caught_up = true;
            return Ok(self.advance(items));
        }
        let page = store
            .stream(self.conversation(), self.after, u32::try_from(PAGE_SIZE).unwrap_or(u32::MAX))
            .await?;
        let next = page.items.first().map_or(page.last + 1, |first| first.seq);
        let mut read: Vec<ReadItem> =
            self.fell_behind(next, page.last).into_iter().map(ReadItem::Missed).collect();
        self.after = self.after.max(next - 1);
        let heading = self.channel.heading.clone();
        let items = page.items.iter().map(|item| heading.encode(item.seq, item.trust, &item.item)).collect();
        read.extend(self.advance(items));
        Ok(read)
    }

    /// The `missed` event of a subscriber that continues at number `next`.
    fn fell_behind(&mut self, next: u64, last: u64) -> Option<Missed> {
        let was_evicted =
            std::mem::replace(&mut self.caught_up, false) && self.channel.has_evicted(self.after);
        let (from, session_id) = (self.after + 1, self.conversation().clone());
        if next > from {
            let href = format!("/api/v1/conversations/{session_id}/messages");
            return Some(Missed { session_id, from, to: next - 1, catch_up: CatchUp::Messages { href } });
        }
        let missed = Missed { session_id, from, to: last, catch_up: CatchUp::Replay };
        was_evicted.then_some(missed)
    }

    fn advance(&mut self, items: Vec<WireEvent>) -> Vec<ReadItem> {
        if let Some(last) = items.last() {
            self.after = self.after.max(last.seq);
        }
        let trust: Trust = self.reader.trust();
        items.into_iter().filter(|item| trust.permits(item.trust)).map(ReadItem::Item).collect()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.channel.unlisten(&self.listener);
    }
}
