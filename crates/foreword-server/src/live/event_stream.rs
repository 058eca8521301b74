//! A running stream of server-sent events. Ends when the client leaves, is no longer authorised, or has its answer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use foreword_agent::conversation::wait_for_answer::OpenQuestion;
use foreword_core::api_token::Scope;
use foreword_core::id::{ConversationId, MessageId};
use foreword_core::turn_journal::TurnState;
use foreword_store::error::StoreError;
use foreword_store::turns::StoredTurn;
use http::StatusCode;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::open_question::WAITING_FOR_APPROVAL;
use super::repair_turn_end;
use super::reply::Reply;
use super::sse::PendingStream;
use super::subscription::ReadItem;
use super::wire_event::Heading;
use crate::auth::credential::Credential;
use crate::auth::find_caller;

/// How long the stream waits for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(600);
/// How long before the end of the drain time a stream ends by itself.
const STOP_MARGIN: Duration = Duration::from_millis(250);
/// How long the node that ran a turn has to publish its end, if nothing is being written.
const LOCAL_GRACE_PERIOD: Duration = Duration::from_secs(1);
const RESTARTING_NOTICE: &str = "The server is restarting. Reconnect to continue; no events are lost.";
const NOT_ANSWERED_NOTICE: &str = "The message is not answered yet. The answer will be in the conversation.";

/// When a stream ends.
pub(super) enum StreamUntil {
    ClientLeaves,
    Answered {
        message: MessageId,
        /// The turn that answers it, once it has started.
        turn: Option<String>,
        /// Whether the message was sent before. Then events of other turns are skipped.
        before: bool,
    },
}

impl StreamUntil {
    /// Whether the event just read is sent.
    fn is_relevant(&self) -> bool {
        !matches!(self, Self::Answered { turn: None, before: true, .. })
    }

    /// Whether this is a question to the owner, which may delay the answer.
    fn is_question(&self, text: &str) -> bool {
        matches!(self, Self::Answered { .. }) && kind(text) == "question"
    }

    /// Whether this is the last event.
    fn is_last(&mut self, text: &str) -> bool {
        let Self::Answered { message, turn, .. } = self else { return false };
        let Ok(item) = serde_json::from_str::<serde_json::Value>(text) else { return false };
        let named = item["turnId"].as_str();
        match item["type"].as_str() {
            Some("turn_start") => {
                let answers = item["messages"].as_array().is_some_and(|messages| {
                    messages.iter().any(|answered| answered.as_str() == Some(message.as_str()))
                });
                if answers {
                    *turn = named.map(str::to_owned);
                }
                false
            }
            Some("turn_end") => turn.is_some() && turn.as_deref() == named,
            _ => false,
        }
    }
}

pub(super) struct EventStream {
    pending: PendingStream,
    until: StreamUntil,
    credential: Credential,
    stop: watch::Receiver<bool>,
    recheck: watch::Receiver<u64>,
    ready: VecDeque<Bytes>,
    done: bool,
    check_interval: Duration,
    /// When the authorisation is checked next.
    next_check: Instant,
    /// Whether to check for the end of the turn in the store after all events are read.
    check_end: bool,
    /// When the stream ends at the latest.
    deadline: Option<Instant>,
    is_stopping: bool,
}

impl EventStream {
    pub(super) fn new(pending: PendingStream, until: StreamUntil, credential: Credential) -> Self {
        let (live, ping) = (&pending.app.live, pending.app.config().server.ping);
        let (stop, recheck, now) = (live.stop.subscribe(), live.recheck.subscribe(), Instant::now());
        let (check_interval, deadline) = match &until {
            StreamUntil::ClientLeaves => (ping, None),
            StreamUntil::Answered { .. } => {
                (ping.min(repair_turn_end::GRACE_PERIOD), Some(now + ANSWER_TIMEOUT))
            }
        };
        Self {
            pending,
            until,
            credential,
            stop,
            recheck,
            ready: VecDeque::new(),
            done: false,
            check_interval,
            next_check: now + check_interval,
            check_end: false,
            deadline,
            is_stopping: false,
        }
    }

    /// Queues the `accepted` event with the message's id, which `turn_start` refers to.
    pub(super) fn accepted(&mut self, conversation: ConversationId) {
        let StreamUntil::Answered { message, before, .. } = &self.until else { return };
        let (message_id, before) = (message.clone(), *before);
        let accepted = Reply::Accepted { session_id: conversation, message_id, before };
        self.ready.push_back(format!("event: accepted\ndata: {}\n\n", accepted.to_wire(None)).into());
    }

    /// Requests a check for the end of the turn in the store: its event may have been pruned.
    pub(super) fn request_end_check(&mut self) {
        self.check_end = true;
    }

    /// The next bytes; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            self.run_timers().await;
            if self.done {
                // A last event may have been queued.
                return self.ready.pop_front();
            }
            let PendingStream { app, subscription, more } = &mut self.pending;
            let (read, store_failed) = match subscription.read(&app.store).await {
                Ok(read) => (read, false),
                Err(StoreError::NotFound { .. }) => return None,
                // The store is asked again later.
                Err(_) => (Vec::new(), true),
            };
            // Events that the reader may not see are skipped.
            let has_more = subscription.has_more() && !store_failed;
            let more = Arc::clone(more);
            self.take(read);
            if has_more || !self.ready.is_empty() {
                continue;
            }
            if !store_failed && std::mem::take(&mut self.check_end) {
                self.check_turn_end().await;
            }
            if self.ready.is_empty() && !self.done {
                self.wait(&more).await;
            }
        }
    }

    /// Waits for events, a timer, or a change of the authorisation.
    async fn wait(&mut self, more: &Notify) {
        enum Next {
            More,
            Recheck,
            Stop,
        }
        let until = self.deadline.map_or(self.next_check, |deadline| deadline.min(self.next_check));
        let next = tokio::select! {
            () = more.notified() => Next::More,
            _ = self.stop.wait_for(|stop| *stop), if !self.is_stopping => Next::Stop,
            _ = self.recheck.changed() => Next::Recheck,
            () = tokio::time::sleep_until(until) => Next::More,
        };
        match next {
            Next::More => {}
            Next::Recheck => self.done = !self.is_still_allowed().await,
            Next::Stop => self.start_draining(),
        }
    }

    fn start_draining(&mut self) {
        self.is_stopping = true;
        let drain = match self.until {
            StreamUntil::ClientLeaves => Duration::ZERO,
            // The turn may end while the server drains.
            StreamUntil::Answered { .. } => {
                self.pending.app.config().server.drain.saturating_sub(STOP_MARGIN)
            }
        };
        let end = Instant::now() + drain;
        self.deadline = Some(self.deadline.map_or(end, |deadline| deadline.min(end)));
    }

    /// Runs the checks that are due, even if there are events to read.
    async fn run_timers(&mut self) {
        let now = Instant::now();
        if now >= self.next_check && !self.done {
            self.next_check = now + self.check_interval;
            self.check_end = true;
            self.done = !self.is_still_allowed().await;
            self.ready.push_back(Bytes::from_static(b": here\n\n"));
        }
        if self.deadline.is_some_and(|deadline| now >= deadline) && !self.done {
            self.done = true;
            let conversation = self.pending.subscription.conversation().clone();
            self.ready.push_back(status(
                conversation,
                if self.is_stopping { RESTARTING_NOTICE } else { NOT_ANSWERED_NOTICE },
            ));
        }
    }

    /// Whether the token is still valid and its user may still see the conversation. If the store fails, nothing
    /// changes.
    async fn is_still_allowed(&mut self) -> bool {
        let PendingStream { app, subscription, .. } = &mut self.pending;
        let opens = match find_caller(app, &self.credential).await {
            Ok(caller) => caller.require(Scope::Chat).is_ok(),
            Err(problem) => problem.status() != StatusCode::UNAUTHORIZED,
        };
        opens && subscription.is_still_visible(app).await
    }

    /// Ends the stream if the turn has ended and its end will not be published: it was pruned, or the node that ran it
    /// died.
    async fn check_turn_end(&mut self) {
        let StreamUntil::Answered { message, .. } = &self.until else { return };
        let app = &self.pending.app;
        match app.store.answer_to(message).await {
            Ok(Some(answer)) if answer.turn.state != TurnState::Running => self.end_with(&answer.turn),
            // The message was deleted.
            Err(StoreError::NotFound { .. }) => self.done = true,
            Ok(_) => self.end_if_waiting_for_approval().await,
            // The store is asked again later.
            Err(_) => {}
        }
    }

    /// Ends the stream if the turn, or the one that the message is queued behind, waits for the owner's approval, which
    /// may take minutes.
    async fn end_if_waiting_for_approval(&mut self) {
        let PendingStream { app, subscription, .. } = &self.pending;
        let session_id = subscription.conversation().clone();
        if let Ok(Some(OpenQuestion { id: question, turn: turn_id })) =
            app.agent.open_question(&session_id).await
        {
            let waiting =
                Reply::WaitingForApproval { session_id, turn_id, outcome: WAITING_FOR_APPROVAL, question };
            let text = format!("event: waiting_for_approval\ndata: {}\n\n", waiting.to_wire(None));
            self.ready.push_back(text.into());
            self.done = true;
        }
    }

    fn end_with(&mut self, turn: &StoredTurn) {
        let PendingStream { app, subscription, .. } = &self.pending;
        let grace_period =
            if turn.holder == app.node { LOCAL_GRACE_PERIOD } else { repair_turn_end::GRACE_PERIOD };
        let ended = turn.ended_at.is_some_and(|at| app.now().since(at) >= grace_period);
        if !ended || subscription.has_more() || app.live.log.is_writing(&turn.conversation) {
            return;
        }
        self.done = true;
        if subscription.reader.trust().permits(turn.trust) {
            let end =
                Heading::of(&turn.conversation).encode_unnumbered(&repair_turn_end::turn_end_item(turn));
            self.ready.push_back(format!("event: turn_end\ndata: {end}\n\n").into());
        }
    }

    fn take(&mut self, read: Vec<ReadItem>) {
        for read in read {
            let text = match read {
                ReadItem::Item(shown) => {
                    self.done = self.until.is_last(&shown.text);
                    // Whether it is still open is known after all events are read.
                    self.check_end |= self.until.is_question(&shown.text);
                    if !self.until.is_relevant() {
                        continue;
                    }
                    format!("id: {}\nevent: {}\ndata: {}\n\n", shown.seq, kind(&shown.text), shown.text)
                }
                ReadItem::Missed(missed) => format!("event: missed\ndata: {}\n\n", missed.to_json()),
            };
            self.ready.push_back(text.into());
            if self.done {
                return;
            }
        }
    }
}

fn status(conversation: ConversationId, message: &str) -> Bytes {
    let status = Reply::Status { session_id: Some(conversation), message: message.to_owned() };
    format!("event: status\ndata: {}\n\n", status.to_wire(None)).into()
}

/// The `type` of an event, which is the first of its own fields.
fn kind(text: &str) -> &str {
    let behind = text.split_once("\"type\":\"").map_or("", |(_, behind)| behind);
    behind.split('"').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use foreword_core::id::ConversationId;

    use super::*;

    #[test]
    fn answer_stream_ends_with_its_turn() {
        let message = MessageId::new("m-2").unwrap();
        let mut until = StreamUntil::Answered { message, turn: None, before: false };
        let items = [
            (r#"{"type":"turn_start","turnId":"t-1","messages":["m-1"]}"#, false),
            (r#"{"type":"turn_end","turnId":"t-1"}"#, false),
            (r#"{"type":"turn_start","turnId":"t-2","messages":["m-0","m-2"]}"#, false),
            (r#"{"type":"error","turnId":"t-2","kind":"turn_left"}"#, false),
            (r#"{"type":"turn_start","turnId":"t-2","messages":["m-0","m-2"],"resumed":true}"#, false),
            (r#"{"type":"text_delta","turnId":"t-2","text":"\"type\":\"turn_end\""}"#, false),
            (r#"{"type":"turn_end","turnId":"t-2"}"#, true),
        ];
        for (item, done) in items {
            assert_eq!(until.is_last(item), done, "{item}");
        }
    }

    #[test]
    fn item_type_is_extracted() {
        let item = Heading::of(&ConversationId::new("c-\"type\":\"x").unwrap());
        let shown = item.encode(
            7,
            foreword_prompt::trust::Trust::Full,
            r#"{"type":"status","message":"\"type\":\"y\""}"#,
        );
        assert_eq!(kind(&shown.text), "status");
    }
}
