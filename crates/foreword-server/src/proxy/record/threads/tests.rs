//! Consecutive requests of clients.

use foreword_agent::clock_and_rng::Machine;
use foreword_core::cache::ShapeKey;
use serde_json::{Value, json};

use super::*;

fn join(threads: &Threads, payer: &str, dialect: WireDialect, body: &Value) -> Joined {
    let key = ChainKey::of(&ShapeKey::from_bytes([3; 32]));
    let bytes = body.to_string();
    let request = ParsedRequest::read(dialect, bytes.as_bytes()).unwrap();
    threads.join(payer, chain(&key, dialect, &request), None, &Machine).unwrap()
}

fn anthropic(threads: &Threads, payer: &str, system: &str, messages: &Value) -> Joined {
    let body = json!({ "model": "claude-x", "system": system, "messages": messages });
    join(threads, payer, WireDialect::Anthropic, &body)
}

#[test]
fn moved_markers_and_changed_system_keep_the_conversation() {
    let threads = Threads::default();
    let first = anthropic(&threads, "t", "It is 10:00", &json!([{ "role": "user", "content": "hello" }]));
    assert!(first.is_new && first.conversation.as_str().starts_with("proxy:c-"));
    let marked = json!([
        { "role": "user", "content": [{ "type": "text", "text": "hello", "cache_control": { "type": "ephemeral" } }] },
        { "role": "assistant", "content": [{ "type": "text", "text": "hi" }] },
        { "role": "user", "content": [{ "type": "text", "text": "how?", "cache_control": { "type": "ephemeral" } }] },
    ]);
    let second = anthropic(&threads, "t", "It is 10:01", &marked);
    let third = anthropic(
        &threads,
        "t",
        "It is 10:02",
        &json!([
            { "role": "user", "content": "hello" },
            { "role": "assistant", "content": [{ "type": "text", "text": "hi" }] },
            { "role": "user", "content": "how?" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "t1", "name": "x", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1", "content": "5", "cache_control": { "type": "ephemeral" } }] },
        ]),
    );
    assert_eq!((&second.conversation, &third.conversation), (&first.conversation, &first.conversation));
    assert!(!second.is_new && !third.is_new);
}

#[test]
fn payers_never_share_a_conversation() {
    let threads = Threads::default();
    let messages = json!([{ "role": "user", "content": "hello" }, { "role": "assistant", "content": "hi" }, { "role": "user", "content": "on" }]);
    let one = anthropic(&threads, "tok-1", "s", &messages);
    let other = anthropic(&threads, "tok-2", "s", &messages);
    assert_ne!(one.conversation, other.conversation);
    let openai = json!({ "model": "gpt-x", "messages": messages });
    assert_ne!(join(&threads, "tok-1", WireDialect::OpenAi, &openai).conversation, one.conversation);
}

#[test]
fn conversation_names_are_scoped_to_the_payer() {
    let threads = Threads::default();
    let named = |payer: &str, name: &str| threads.named(payer, name).map(String::from);
    assert_eq!(named("tok-1", "task").unwrap(), "proxy:tok-1:task");
    assert_eq!(named("tok-1", "proxy:tok-1:task").unwrap(), "proxy:tok-1:task");
    assert_eq!(named("tok-2", "proxy:tok-1:task").unwrap(), "proxy:tok-2:proxy:tok-1:task");
    let found = anthropic(&threads, "tok-1", "s", &json!([{ "role": "user", "content": "hello" }]));
    let found = found.conversation.as_str();
    assert_eq!(named("tok-1", found).unwrap(), found);
    assert_ne!(named("tok-2", found).unwrap(), found);
    assert!(named("tok-1", "two words").is_err() && named("tok-1", &"x".repeat(500)).is_err());
}

#[test]
fn leading_system_messages_are_ignored_for_matching() {
    let threads = Threads::default();
    let ask = |clock: &str, more: &[(&str, &str)]| {
        let mut messages = vec![json!({ "role": "developer", "content": clock })];
        messages.extend(more.iter().map(|(role, text)| json!({ "role": role, "content": text })));
        join(&threads, "t", WireDialect::OpenAi, &json!({ "model": "gpt-x", "messages": messages }))
    };
    let first = ask("10:00", &[("user", "hello")]);
    let second = ask("10:01", &[("user", "hello"), ("assistant", "hi"), ("user", "on")]);
    assert_eq!(second.conversation, first.conversation);
    // With only system messages, these are compared.
    let (one, other) = (ask("alone", &[]), ask("alone as well", &[]));
    assert!(one.is_new && other.is_new);
    assert_eq!(ask("alone", &[]).conversation, one.conversation);
}

#[test]
fn stored_conversations_load_without_overwriting_newer_ones() {
    let (threads, later) = (Threads::default(), Threads::default());
    let hello = json!([{ "role": "user", "content": "hello" }]);
    let first = anthropic(&threads, "t", "s", &hello).conversation;
    let kept = ProxiedConversation {
        conversation: first.clone(),
        payer: "t".to_owned(),
        dialect: "anthropic".to_owned(),
        last_at: "2026-11-16T08:00:00Z".parse().unwrap(),
        chain: Link::store(&threads.chain("t", &first).unwrap()),
    };
    later.load(std::slice::from_ref(&kept));
    assert_eq!(anthropic(&later, "t", "s", &hello).conversation, first);
    later.load(&[ProxiedConversation { chain: String::new(), ..kept }]);
    assert_eq!(later.chain("t", &first).unwrap().len(), 1);
}

#[test]
fn links_of_all_payers_are_bounded() {
    let threads = Threads::default();
    for payer in 0..60_u64 {
        let chain = (0..30_000).map(|link| Link::from_number(payer << 32 | link)).collect();
        threads.join(&format!("t-{payer}"), chain, None, &Machine).unwrap();
        assert!(threads.links() <= MAX_LINKS);
    }
    let counted: usize =
        threads.0.lock().payers.values().map(|conversations| conversations.recent.links()).sum();
    assert_eq!(counted, threads.links());
}
