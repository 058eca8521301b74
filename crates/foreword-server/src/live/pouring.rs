//! A stream of server-sent events at work: what happens, as it happens, for as long as somebody may see it and waits for it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use foreword_core::api_token::Scope;
use foreword_core::id::{ConversationId, MessageId};
use foreword_store::error::StoreError;
use foreword_store::turns::Turn;
use http::StatusCode;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::mend;
use super::reply::Reply;
use super::shown::Heading;
use super::sse::Listening;
use super::subscription::Read;
use crate::auth::credential::Credential;
use crate::auth::known;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long before everybody is let go of a stream ends by itself.
const FAREWELL: Duration = Duration::from_millis(250);
/// How long after a turn of this node has ended that is told at the latest, if nothing is being written.
const A_MOMENT: Duration = Duration::from_secs(1);
const RESTARTING: &str = "The server is restarting. Connect again, and nothing is missed.";
const NOT_YET: &str = "This is not answered yet, and going to be: the answer will be in the conversation.";

/// When a stream ends.
pub(super) enum Until {
    Left,
    Answered {
        message: MessageId,
        /// The turn that answers it, once it has begun.
        turn: Option<String>,
        /// Whether it was sent before: then what happened in other turns meanwhile is of no interest.
        before: bool,
    },
}

impl Until {
    /// Whether what was just read is to be shown.
    fn is_about_it(&self) -> bool {
        !matches!(self, Self::Answered { turn: None, before: true, .. })
    }

    /// Whether this is the last.
    fn is_over(&mut self, text: &str) -> bool {
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

/// A stream at work.
pub(super) struct Pouring {
    listening: Listening,
    until: Until,
    credential: Credential,
    stop: watch::Receiver<bool>,
    recheck: watch::Receiver<u64>,
    ready: VecDeque<Bytes>,
    over: bool,
    every: Duration,
    /// When is looked again whether somebody may see this.
    look_again: Instant,
    /// Whether to ask, once everything is read, if the turn has ended unheard.
    ask: bool,
    /// When it ends at the latest.
    give_up: Option<Instant>,
    is_stopping: bool,
}

impl Pouring {
    pub(super) fn new(listening: Listening, until: Until, credential: Credential) -> Self {
        let (live, ping) = (&listening.app.live, listening.app.config().server.ping);
        let (stop, recheck, now) = (live.stop.subscribe(), live.recheck.subscribe(), Instant::now());
        let (every, give_up) = match &until {
            Until::Left => (ping, None),
            Until::Answered { .. } => (ping.min(mend::AFTER), Some(now + PATIENCE)),
        };
        Self {
            listening,
            until,
            credential,
            stop,
            recheck,
            ready: VecDeque::new(),
            over: false,
            every,
            look_again: now + every,
            ask: false,
            give_up,
            is_stopping: false,
        }
    }

    /// Tells first that the message is taken in, and what it is called: `turn_start` says which it answers.
    pub(super) fn accepted(&mut self, conversation: ConversationId) {
        let Until::Answered { message, before, .. } = &self.until else { return };
        let (message_id, before) = (message.clone(), *before);
        let accepted = Reply::Accepted { session_id: conversation, message_id, before };
        self.ready.push_back(format!("event: accepted\ndata: {}\n\n", accepted.to_wire(None)).into());
    }

    /// Has it asked at once whether the turn has ended: its end may not be on record any more.
    pub(super) fn ask_for_the_end(&mut self) {
        self.ask = true;
    }

    /// What the client is sent next; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            self.look_at_the_clock().await;
            if self.over {
                // A farewell may have been added.
                return self.ready.pop_front();
            }
            let Listening { app, subscription, more } = &mut self.listening;
            let (read, is_away) = match subscription.read(&app.store).await {
                Ok(read) => (read, false),
                Err(StoreError::NotFound { .. }) => return None,
                // A database that is away is asked again.
                Err(_) => (Vec::new(), true),
            };
            // What somebody may not see is passed over, and what follows it is not.
            let has_more = subscription.has_more() && !is_away;
            let more = Arc::clone(more);
            self.take(read);
            if has_more || !self.ready.is_empty() {
                continue;
            }
            if !is_away && std::mem::take(&mut self.ask) {
                self.look_for_the_end().await;
            }
            if self.ready.is_empty() && !self.over {
                self.wait(&more).await;
            }
        }
    }

    /// Waits until there is more, or a reason to look at something else.
    async fn wait(&mut self, more: &Notify) {
        enum Next {
            More,
            Recheck,
            Stop,
        }
        let until = self.give_up.map_or(self.look_again, |give_up| give_up.min(self.look_again));
        let next = tokio::select! {
            () = more.notified() => Next::More,
            _ = self.stop.wait_for(|stop| *stop), if !self.is_stopping => Next::Stop,
            _ = self.recheck.changed() => Next::Recheck,
            () = tokio::time::sleep_until(until) => Next::More,
        };
        match next {
            Next::More => {}
            Next::Recheck => self.over = !self.is_still_open().await,
            Next::Stop => self.begin_to_stop(),
        }
    }

    fn begin_to_stop(&mut self) {
        self.is_stopping = true;
        let drain = match self.until {
            Until::Left => Duration::ZERO,
            // The turn may end while the server does.
            Until::Answered { .. } => self.listening.app.config().server.drain.saturating_sub(FAREWELL),
        };
        let end = Instant::now() + drain;
        self.give_up = Some(self.give_up.map_or(end, |give_up| give_up.min(end)));
    }

    /// Does what is due, however much there is to read.
    async fn look_at_the_clock(&mut self) {
        let now = Instant::now();
        if now >= self.look_again && !self.over {
            self.look_again = now + self.every;
            self.ask = true;
            self.over = !self.is_still_open().await;
            self.ready.push_back(Bytes::from_static(b": here\n\n"));
        }
        if self.give_up.is_some_and(|give_up| now >= give_up) && !self.over {
            self.over = true;
            let conversation = self.listening.subscription.conversation().clone();
            self.ready.push_back(status(conversation, if self.is_stopping { RESTARTING } else { NOT_YET }));
        }
    }

    /// Whether the token still opens this, and its user may still see it; a database that is away can't say otherwise.
    async fn is_still_open(&mut self) -> bool {
        let Listening { app, subscription, .. } = &mut self.listening;
        let opens = match known(app, &self.credential).await {
            Ok(caller) => caller.needs(Scope::Chat).is_ok(),
            Err(problem) => problem.status() != StatusCode::UNAUTHORIZED,
        };
        opens && subscription.is_still_seen(app).await
    }

    /// Ends if the turn that is waited for has, and nothing of it is going to be told: what was told is gone from the record,
    /// or whoever was to tell it.
    async fn look_for_the_end(&mut self) {
        let Until::Answered { message, .. } = &self.until else { return };
        let app = &self.listening.app;
        match app.store.answer_to(message).await {
            Ok(Some(answer)) => self.end_with(&answer.turn),
            // It was deleted, and nobody answers it.
            Err(StoreError::NotFound { .. }) => self.over = true,
            // It waits, or a database that is away is asked again.
            Ok(None) | Err(_) => {}
        }
    }

    fn end_with(&mut self, turn: &Turn) {
        let Listening { app, subscription, .. } = &self.listening;
        let patience = if turn.holder == app.node { A_MOMENT } else { mend::AFTER };
        let ended = turn.ended_at.is_some_and(|at| app.now().since(at) >= patience);
        if !ended || subscription.has_more() || app.live.log.is_writing(&turn.conversation) {
            return;
        }
        self.over = true;
        if subscription.who.trust().permits(turn.trust) {
            let end = Heading::of(&turn.conversation).show_unnumbered(&mend::end_of(turn));
            self.ready.push_back(format!("event: turn_end\ndata: {end}\n\n").into());
        }
    }

    fn take(&mut self, read: Vec<Read>) {
        for read in read {
            let text = match read {
                Read::Item(shown) => {
                    self.over = self.until.is_over(&shown.text);
                    if !self.until.is_about_it() {
                        continue;
                    }
                    format!("id: {}\nevent: {}\ndata: {}\n\n", shown.seq, kind(&shown.text), shown.text)
                }
                Read::Missed(missed) => format!("event: missed\ndata: {}\n\n", missed.to_json()),
            };
            self.ready.push_back(text.into());
            if self.over {
                return;
            }
        }
    }
}

fn status(conversation: ConversationId, message: &str) -> Bytes {
    let status = Reply::Status { session_id: Some(conversation), message: message.to_owned() };
    format!("event: status\ndata: {}\n\n", status.to_wire(None)).into()
}

/// The type of an item, which is the first of its own fields.
fn kind(text: &str) -> &str {
    let behind = text.split_once("\"type\":\"").map_or("", |(_, behind)| behind);
    behind.split('"').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use foreword_core::id::ConversationId;

    use super::*;

    #[test]
    fn a_stream_that_waits_for_an_answer_ends_with_the_turn_that_gives_it() {
        let message = MessageId::new("m-2").unwrap();
        let mut until = Until::Answered { message, turn: None, before: false };
        let items = [
            (r#"{"type":"turn_start","turnId":"t-1","messages":["m-1"]}"#, false),
            (r#"{"type":"turn_end","turnId":"t-1"}"#, false),
            (r#"{"type":"turn_start","turnId":"t-2","messages":["m-0","m-2"]}"#, false),
            (r#"{"type":"error","turnId":"t-2","kind":"turn_left"}"#, false),
            (r#"{"type":"turn_start","turnId":"t-2","messages":["m-0","m-2"],"resumed":true}"#, false),
            (r#"{"type":"text_delta","turnId":"t-2","text":"\"type\":\"turn_end\""}"#, false),
            (r#"{"type":"turn_end","turnId":"t-2"}"#, true),
        ];
        for (item, over) in items {
            assert_eq!(until.is_over(item), over, "{item}");
        }
    }

    #[test]
    fn the_type_of_an_item_is_read_out_of_it() {
        let item = Heading::of(&ConversationId::new("c-\"type\":\"x").unwrap());
        let shown = item.show(
            7,
            foreword_prompt::trust::Trust::Full,
            r#"{"type":"status","message":"\"type\":\"y\""}"#,
        );
        assert_eq!(kind(&shown.text), "status");
    }
}
