//! Conversations, messages and turns for tests.

use std::time::Duration;

use foreword_core::id::{CallId, ConversationId, MessageId, TurnId};
use foreword_core::message::{ContentBlock, Kind, NewMessage, Provenance, Role, Usage};
use foreword_core::turn_journal::{JournalStep, Outcome};
use foreword_prompt::trust::Trust;
use foreword_store::conversations::NewConversation;
use foreword_store::store::Store;
use foreword_store::turns::{
    BeginOutcome, BeginTurn, FinishTurn, NewStep, StartedTurn, TakeMessages, TakeOver, TakenOver,
};

use crate::contract::now;

pub(crate) const HOUR: Duration = Duration::from_secs(3_600);

pub(crate) async fn conversation(store: &Store, id: &str) -> ConversationId {
    let id = ConversationId::new(id).unwrap();
    store.create_conversation(NewConversation::new(id.clone(), "assistant", "direct", now())).await.unwrap();
    id
}

pub(crate) fn message(conversation: &str, id: &str) -> NewMessage {
    NewMessage {
        id: MessageId::new(id).unwrap(),
        conversation: ConversationId::new(conversation).unwrap(),
        role: Role::Assistant,
        kind: Kind::Message,
        content: vec![ContentBlock::text("hello")],
        trust: Trust::Full,
        provenance: Provenance::Agent,
        author: None,
        turn: None,
        usage: None,
        at: now(),
    }
}

/// A pending message by alice.
pub(crate) async fn say(store: &Store, conversation: &ConversationId, id: &str) {
    let new = NewMessage {
        role: Role::User,
        provenance: Provenance::Owner,
        author: Some("alice".to_owned()),
        ..message(conversation.as_str(), id)
    };
    store.accept(new, None).await.unwrap();
}

/// A turn on a live node.
pub(crate) fn begin(turn: &str, conversation: &str) -> BeginTurn {
    BeginTurn {
        turn: TurnId::new(turn).unwrap(),
        conversation: ConversationId::new(conversation).unwrap(),
        node: "node-a".parse().unwrap(),
        trust: Trust::Full,
        take: TakeMessages::Pending,
        lease: HOUR,
        now: now(),
    }
}

/// A turn whose lease expires at once, by any clock.
pub(crate) fn dying(turn: &str, conversation: &str) -> BeginTurn {
    BeginTurn { lease: Duration::ZERO, ..begin(turn, conversation) }
}

pub(crate) fn taking(turn: &str, conversation: &str, messages: &[&str]) -> BeginTurn {
    let messages = messages.iter().map(|id| MessageId::new(id).unwrap()).collect();
    BeginTurn { take: TakeMessages::Messages(messages), ..begin(turn, conversation) }
}

pub(crate) async fn begun(store: &Store, new: BeginTurn) -> StartedTurn {
    match store.begin_turn(new).await.unwrap() {
        BeginOutcome::Begun(begun) => begun,
        other => panic!("{other:?}"),
    }
}

/// Takes a turn over, with a lease that expires at once.
pub(crate) async fn take_over(store: &Store, turn: &TurnId, node: &str) -> Option<TakenOver> {
    let wish = TakeOver {
        turn: turn.clone(),
        node: node.parse().unwrap(),
        lease: Duration::ZERO,
        attempts_limit: 9,
        now: now(),
    };
    store.take_over(wish).await.unwrap()
}

pub(crate) fn step(number: u64, step: JournalStep) -> NewStep {
    NewStep { number, step, saved: None, at: now() }
}

pub(crate) fn answer() -> JournalStep {
    JournalStep::Call {
        model: "offline/echo".to_owned(),
        content: vec![ContentBlock::text("hello")],
        usage: Usage::default(),
    }
}

pub(crate) fn started(call: &str, side_effects: bool) -> JournalStep {
    JournalStep::ToolStarted { call: CallId::new(call).unwrap(), tool: "send_mail".to_owned(), side_effects }
}

pub(crate) fn done(conversation: &str, reply: &str) -> FinishTurn {
    FinishTurn { outcome: Outcome::Done, reply: vec![message(conversation, reply)], failure: None, at: now() }
}
