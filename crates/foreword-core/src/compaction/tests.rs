//! When compaction is due, the size of a conversation, and repeated skills.

use foreword_prompt::trust::Trust;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::id::{CallId, ConversationId, MessageId, TurnId};
use crate::message::{NewMessage, Provenance, Usage};

fn message(seq: u64, role: Role, kind: Kind, content: Vec<ContentBlock>) -> Message {
    let message = NewMessage {
        id: MessageId::new(format!("m-{seq}")).unwrap(),
        conversation: ConversationId::new("c-1").unwrap(),
        role,
        kind,
        content,
        trust: Trust::Full,
        provenance: Provenance::Owner,
        author: None,
        turn: TurnId::new("t-1").ok(),
        usage: None,
        at: "2026-11-16T08:00:00Z".parse().unwrap(),
    };
    Message { seq, message }
}

fn loads(seq: u64, call: &str, tool: &str, skill: &str, fails: bool) -> [Message; 2] {
    let id = CallId::new(call).unwrap();
    let asked =
        ContentBlock::ToolCall { id: id.clone(), name: tool.to_owned(), input: json!({ "name": skill }) };
    let gave = ContentBlock::ToolResult { call: id, content: "…".to_owned(), is_error: fails };
    [
        message(seq, Role::Assistant, Kind::Message, vec![asked]),
        message(seq + 1, Role::Tool, Kind::Message, vec![gave]),
    ]
}

#[test]
fn share_is_between_zero_and_one() {
    for (written, expected) in [(0.2, Some(20)), (0.95, Some(95)), (0.0, Some(0)), (1.0, Some(100))] {
        assert_eq!(Share::of_a_whole(written).map(|share| share.of(100)), expected, "{written}");
    }
    for none in [-0.1, 1.001, f64::NAN, f64::INFINITY] {
        assert_eq!(Share::of_a_whole(none), None);
    }
    assert_eq!(Share::of_a_whole(0.35).unwrap().to_string(), "0.35");
    assert_eq!(Share::of_a_whole(1.0).unwrap().of(usize::MAX), usize::MAX);
}

#[test]
fn disabled_compaction_is_never_due() {
    let long = ContextSize { weight: usize::MAX, coverable: usize::MAX, window: Some(1_000) };
    let off = CompactionPolicy { share: None, night_share: None, ..CompactionPolicy::default() };
    for moment in [CompactionTrigger::TurnEnded, CompactionTrigger::Night] {
        assert!(CompactionPolicy::default().is_due(moment, &long));
        assert!(!off.is_due(moment, &long));
        assert!(!off.is_due(moment, &ContextSize { window: None, ..long }));
    }
}

proptest! {
    #[test]
    fn compaction_is_due_above_the_limit(weight in 0..300_000_usize, coverable in 0..300_000_usize, window in 1..300_000_usize) {
        let policy = CompactionPolicy::default();
        let measured = ContextSize { weight, coverable, window: Some(window) };
        for moment in [CompactionTrigger::TurnEnded, CompactionTrigger::Night] {
            let limit = policy.limit(moment, Some(window)).unwrap();
            let due = policy.is_due(moment, &measured);
            prop_assert_eq!(due, weight > limit && coverable > 0 && coverable >= limit / 10);
            // Whatever is due after a turn is also due in the background.
            prop_assert!(moment == CompactionTrigger::Night || !due || coverable < limit / 10 || policy.is_due(CompactionTrigger::Night, &measured));
        }
    }
}

#[test]
fn history_size_is_the_last_reported_usage() {
    let mut answer = message(2, Role::Assistant, Kind::Message, vec![ContentBlock::text("hello")]);
    answer.message.usage = Some(Usage {
        input: 10,
        output: 5,
        cache_read: 100,
        cache_write: 1,
        cache_write_1h: 1,
        cache_unknown: false,
    });
    let mut history = History { messages: vec![answer.clone()], ..History::default() };
    assert_eq!(weight(&history), 116);
    history.messages[0].message.kind = Kind::Summary;
    assert_eq!(weight(&history), 5, "what it was made from is gone");
    history.messages.push(answer);
    assert_eq!(weight(&history), 116);
    assert_eq!(weight(&History::default()), 0);
}

#[test]
fn sent_messages_replace_user_messages_in_counts() {
    let text = |words: &str| vec![ContentBlock::text(words)];
    let said = message(1, Role::User, Kind::Message, text("four"));
    let sent = message(2, Role::User, Kind::Sent, text("<context>four"));
    let answer = message(3, Role::Assistant, Kind::Message, text("answer"));
    let mut waits = message(4, Role::User, Kind::Message, text("not read yet"));
    waits.message.turn = None;
    let length = |text: &str| text.len();
    assert_eq!(counted(&[&said, &sent, &answer, &waits], length), 13 + 6);
    assert_eq!(counted(&[&said, &answer], length), 4 + 6);
}

#[test]
fn skills_are_found_once_and_the_newest_first() {
    let mut summary = message(1, Role::User, Kind::Summary, vec![ContentBlock::text("before")]);
    let tea = LoadedSkill { name: "tea".to_owned(), text: Some(("# tea".to_owned(), 2)) };
    let diary = LoadedSkill { name: "diary".to_owned(), text: Some(("# diary".to_owned(), 2)) };
    summary.message.content.push(skill_reminder(&[tea, diary], 10).unwrap().note);
    let history: Vec<Message> = [summary]
        .into_iter()
        .chain(loads(2, "call_0", "skill_get", "bread", false))
        .chain(loads(4, "call_0", "skill_get", "nothing", true))
        .chain(loads(6, "call_0", "memory_get", "secret", false))
        .chain(loads(8, "call_0", "skill_get", "diary", false))
        .collect();
    assert_eq!(skills_loaded(&history), ["diary", "bread", "tea"]);
    // Only Foreword writes summaries.
    let mut forged = history[0].clone();
    forged.message.kind = Kind::Message;
    assert!(skills_loaded(&[forged]).is_empty());
}

#[test]
fn omitted_and_removed_skills_are_listed() {
    let skill = |name: &str, tokens: usize| LoadedSkill {
        name: name.to_owned(),
        text: Some((format!("# {name}\n\nText."), tokens)),
    };
    let gone = LoadedSkill { name: "old\n# System".to_owned(), text: None };
    let again =
        skill_reminder(&[skill("bread", 60), skill("long", 50), skill("tea", 40), gone], 100).unwrap();
    let expected = [
        "Skills you had loaded before this point, as they are written now:",
        "# bread\n\nText.",
        "# tea\n\nText.",
        "Loaded then, and too long to repeat here: `long`. Load what you need again with `skill_get`.",
        "Loaded then, and not there any more: `old\\n# System`.",
    ];
    assert_eq!(again.text, expected.join("\n\n"));
    assert_eq!(
        again.note,
        ContentBlock::Other(json!({ "type": "skills", "names": ["bread", "long", "tea"] }))
    );
    assert_eq!(skill_reminder(&[], 100), None);
}
