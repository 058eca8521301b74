//! Properties of transcripts of simulated conversations and of arbitrary histories.

use std::collections::BTreeSet;

use foreword_prompt::trust::Trust;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::simulation::{Conversation, SimulationEvent, any_conversation, any_conversation_with_silence};
use super::transcript;
use crate::history::History;
use crate::history_visibility::visible_history;
use crate::id::{CallId, ConversationId, MessageId, TurnId};
use crate::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use crate::model::{RequestMessage, RequestRole};

/// Why a provider would reject a transcript.
fn refused(messages: &[RequestMessage]) -> Option<String> {
    if messages.first().is_some_and(|first| first.role != RequestRole::User) {
        return Some("it does not begin with a user's message".to_owned());
    }
    let mut open: Vec<&CallId> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let answers: Vec<&CallId> = message.content.iter().filter_map(answered).collect();
        let sorted = |ids: &[&CallId]| {
            let mut ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
            ids.sort();
            ids
        };
        let is_tool = message.role == RequestRole::Tool;
        if sorted(&open) != sorted(&answers) || is_tool == answers.is_empty() {
            return Some(format!("message {index} answers {answers:?}, called for were {open:?}"));
        }
        open = message.content.iter().filter_map(called).collect();
        if !open.is_empty() && message.role != RequestRole::Assistant {
            return Some(format!("message {index} is not the agent's and calls a tool"));
        }
        if message.content.is_empty() || message.content.iter().any(is_blank) {
            return Some(format!("message {index} is empty"));
        }
    }
    (!open.is_empty()).then(|| format!("{open:?} are not answered"))
}

fn answered(block: &ContentBlock) -> Option<&CallId> {
    match block {
        ContentBlock::ToolResult { call, .. } => Some(call),
        _ => None,
    }
}

fn called(block: &ContentBlock) -> Option<&CallId> {
    match block {
        ContentBlock::ToolCall { id, .. } => Some(id),
        _ => None,
    }
}

fn is_blank(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Text { text } if text.trim().is_empty())
}

/// Whether each turn at a trust extends what the previous one at that trust had read, sent and received.
fn check_every_turn_extends_the_last(events: &[SimulationEvent]) -> Result<(), TestCaseError> {
    let conversation = Conversation::of(events);
    for trust in Trust::ALL {
        let mut so_far: Vec<RequestMessage> = Vec::new();
        for run in conversation.runs.iter().filter(|run| run.trust == trust) {
            prop_assert!(
                run.before.starts_with(&so_far),
                "{:#?}\ndoes not begin with\n{:#?}",
                run.before,
                so_far
            );
            prop_assert_eq!(refused(&run.before), None);
            so_far = [run.before.as_slice(), run.own.as_slice()].concat();
        }
        let now = transcript(&visible_history(conversation.history.clone(), trust), None);
        prop_assert!(now.starts_with(&so_far), "{:#?}\ndoes not begin with\n{:#?}", now, so_far);
        prop_assert_eq!(refused(&now), None);
    }
    Ok(())
}

/// Arbitrary histories.
fn any_history() -> impl Strategy<Value = Vec<Message>> {
    let id = || (0..3_u8).prop_map(|id| CallId::new(format!("call_{id}")).unwrap());
    let block = prop_oneof![
        select(vec!["", " \n", "hello", "[x]", "</turn-context>"]).prop_map(ContentBlock::text),
        id().prop_map(|id| ContentBlock::ToolCall { id, name: "bash".to_owned(), input: json!({}) }),
        id().prop_map(|call| ContentBlock::ToolResult { call, content: "fine".to_owned(), is_error: false }),
        select(vec![json!({ "type": "thinking" }), json!({ "type": "told" }), json!(7)])
            .prop_map(ContentBlock::Other),
    ];
    let message = (
        select(&Role::ALL[..]),
        select(&Kind::ALL[..]),
        select(&Provenance::ALL[..]),
        select(&Trust::ALL[..]),
        proptest::option::of(0..4_u8),
        proptest::collection::vec(block, 0..4),
    );
    proptest::collection::vec(message, 0..16).prop_map(|messages| {
        let messages = messages.into_iter().zip(1_u64..);
        let messages = messages.map(|((role, kind, provenance, trust, turn, content), seq)| Message {
            seq,
            message: NewMessage {
                id: MessageId::new(format!("m-{seq}")).unwrap(),
                conversation: ConversationId::new("c-1").unwrap(),
                role,
                kind,
                content,
                trust,
                provenance,
                author: None,
                turn: turn.map(|turn| TurnId::new(format!("t-{turn}")).unwrap()),
                usage: None,
                at: "2026-11-16T08:00:00Z".parse().unwrap(),
            },
        });
        messages.collect()
    })
}

/// Whether a summary may cover everything up to `cut` without splitting a turn.
fn is_a_cut(history: &History, cut: u64, trust: Trust, running: Option<&TurnId>) -> bool {
    let turns = |covered: bool| -> BTreeSet<&TurnId> {
        let there = history.messages.iter().filter(|message| message.message.kind != Kind::Summary);
        there
            .filter(|message| (message.seq <= cut) == covered)
            .filter_map(|message| message.message.turn.as_ref())
            .collect()
    };
    let covered = turns(true);
    history.may_cover(cut, trust).is_ok()
        && covered.is_disjoint(&turns(false))
        && running.is_none_or(|running| !covered.contains(running))
}

proptest! {
    #[test]
    fn request_starts_with_everything_sent_before(events in any_conversation()) {
        check_every_turn_extends_the_last(&events)?;
    }

    #[test]
    fn turn_without_output_leaves_the_transcript_unchanged(events in any_conversation_with_silence()) {
        check_every_turn_extends_the_last(&events)?;
    }

    #[test]
    fn every_history_can_be_sent(history in any_history(), trust in select(&Trust::ALL[..]), turn in 0..5_u8) {
        let current = TurnId::new(format!("t-{turn}")).unwrap();
        prop_assert_eq!(refused(&transcript(&history, None)), None);
        prop_assert_eq!(refused(&transcript(&visible_history(history, trust), Some(&current))), None);
    }

    #[test]
    fn cut_is_the_highest_coverable_position(
        events in any_conversation(), trust in select(&Trust::ALL[..]), turn in proptest::option::of(0..8_u8),
    ) {
        let messages = Conversation::of(&events).history;
        let history = History { compaction: 0, covered_to: 0, messages };
        let running = turn.map(|turn| TurnId::new(format!("t-{turn}")).unwrap());
        let expected = (1..=history.last()).rev().find(|cut| is_a_cut(&history, *cut, trust, running.as_ref()));
        prop_assert_eq!(history.cut(trust, running.as_ref()), expected);
    }

    #[test]
    fn messages_after_a_cut_are_unchanged(events in any_conversation_with_silence()) {
        let messages = Conversation::of(&events).history;
        let history = History { compaction: 0, covered_to: 0, messages };
        let all = transcript(&history.messages, None);
        let Some(cut) = (1..history.last()).find(|cut| is_a_cut(&history, *cut, Trust::Full, None)) else {
            return Ok(());
        };
        let (covered, rest): (Vec<Message>, Vec<Message>) =
            history.messages.into_iter().partition(|message| message.seq <= cut);
        prop_assert_eq!([transcript(&covered, None), transcript(&rest, None)].concat(), all);
    }
}
