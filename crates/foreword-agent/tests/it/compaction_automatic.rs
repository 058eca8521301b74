//! Automatic compaction: after a turn that fills the context window, and in the background.

use std::time::Duration;

use foreword_agent::conversation::feed::Progress;
use foreword_core::event::StoredEvent;
use foreword_core::history::History;
use foreword_core::id::ConversationId;
use foreword_core::message::{Kind, Usage};
use foreword_core::provider::WireDialect;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_testkit::{Received, Reply, Script, eventually};

use crate::fixture::{Fixture, Setting, alice, in_group, on};
use crate::well_formed::all_well_formed;

/// A window of 20,000 tokens; compaction is due from 16,000 tokens on.
pub(crate) const SMALL_WINDOW: &str = "prices: [{ id: anthropic/claude-haiku-4-5, context_window: 20000, max_output: 1000, min_cacheable: 100 }]\n";

pub(crate) fn c1() -> ConversationId {
    ConversationId::new("c-1").unwrap()
}

/// An answer that reports a request of `tokens`.
pub(crate) fn weighing(words: &str, tokens: u64) -> Reply {
    Reply::text(words).usage(Usage { input: tokens, output: 10, ..Usage::default() })
}

/// Text with a noticeable token count.
pub(crate) fn long_words() -> String {
    "the harbour and the lighthouse and the boats that lie there ".repeat(300)
}

pub(crate) fn asks_for_summary(request: &Received) -> bool {
    request.conversation().contains("Summarise the conversation up to here.")
}

async fn until(fixture: &Fixture, done: impl Fn(&History) -> bool) -> History {
    eventually(async || {
        let history = fixture.store.history(&c1()).await.unwrap();
        let turns = fixture.store.turns(&c1(), None, 10).await.unwrap();
        let idle = turns.iter().all(|turn| turn.state != TurnState::Running);
        if done(&history) && idle { Ok(history) } else { Err(history) }
    })
    .await
}

async fn failures(fixture: &Fixture) -> Vec<StoredEvent> {
    let is_failure = |event: &StoredEvent| event.event.event_type.to_string() == "compaction_failed";
    fixture.log().await.into_iter().filter(is_failure).collect()
}

#[tokio::test]
async fn full_window_is_compacted_after_the_answer() {
    for dialect in [WireDialect::Anthropic, WireDialect::OpenAi] {
        let replies =
            [weighing("Noted.", 17_000), weighing("They spoke of boats.", 17_100), Reply::text("Boats.")];
        let fixture = Fixture::with(replies, dialect, SMALL_WINDOW).await;
        let seen = fixture.say("c-1", alice(), &long_words()).await;
        assert_eq!((seen.text().as_str(), seen.ending()), ("Noted.", (Outcome::Done, None)));
        let history = until(&fixture, |history| history.compaction == 1).await;
        assert_eq!(
            history.messages.iter().map(|message| message.message.kind).collect::<Vec<_>>(),
            [Kind::Summary]
        );
        let seen = fixture.say("c-1", alice(), "what did we speak of?").await;
        assert_eq!(seen.text(), "Boats.");
        let requests = fixture.provider.requests();
        all_well_formed(&requests);
        assert_eq!(requests.len(), 3, "once, and not again although little has changed");
        assert!(!requests[2].conversation().contains("lie there"), "{}", requests[2].conversation());
    }
}

#[tokio::test]
async fn messages_during_compaction_are_answered_in_order() {
    let slow = weighing("They spoke of boats.", 17_100).after(Duration::from_millis(600));
    let replies = [weighing("Noted.", 17_000), slow, Reply::text("One."), Reply::text("Two.")];
    let fixture = Fixture::with(replies, WireDialect::Anthropic, SMALL_WINDOW).await;
    fixture.say("c-1", alice(), &long_words()).await;
    fixture.provider.until(|counts| counts.requests == 2).await;
    let first = fixture.send("c-1", alice(), "first").await;
    let second = fixture.send("c-1", on("signal:bob"), "second").await;
    assert_eq!(fixture.follow(first).await.ending().0, Outcome::Done);
    assert_eq!(fixture.follow(second).await.ending().0, Outcome::Done);
    let requests = fixture.provider.requests();
    assert!(requests[2].conversation().contains("They spoke of boats."));
    assert!(requests[2].conversation().contains("first") && !requests[2].conversation().contains("second"));
    assert!(requests[3].conversation().contains("second"));
}

#[tokio::test]
async fn failed_compaction_is_retried_after_the_next_turn() {
    let script = Script::answering(|request| {
        if asks_for_summary(request) { Reply::status(401) } else { weighing("Noted.", 17_000) }
    });
    let fixture = Fixture::with(script, WireDialect::Anthropic, SMALL_WINDOW).await;
    let receipt = fixture.send("c-1", alice(), &long_words()).await;
    let (feed, from) = (receipt.feed.clone(), receipt.from);
    fixture.follow(receipt).await;
    foreword_testkit::until("the failure is logged", async || !failures(&fixture).await.is_empty()).await;
    until(&fixture, |history| history.compaction == 0).await;
    let progress = format!("{:?}", feed.read(from).await.items);
    assert!(
        progress.contains("The conversation fills 85 % of the context window. Summarising..."),
        "{progress}"
    );
    let problem = feed.read(from).await.items.into_iter().find_map(|item| match &*item {
        Progress::Problem(cause) => Some(cause.for_record().clone()),
        _ => None,
    });
    assert!(problem.unwrap().contains("Compaction failed, the conversation is unchanged"), "{progress}");
    assert_eq!(fixture.provider.requests().len(), 2, "not again by itself");
    let seen = fixture.say("c-1", alice(), "still there?").await;
    assert_eq!(seen.ending(), (Outcome::Done, None));
    fixture.provider.until(|counts| counts.requests == 4).await;
}

#[tokio::test]
async fn compaction_needs_a_share_and_a_known_window() {
    let off = format!(
        "agent: {{ name: Ada, model: anthropic/claude-haiku-4-5, compaction: {{ share: off }} }}\n{SMALL_WINDOW}"
    );
    let unknown = "agent: { name: Ada, model: anthropic/nobody-knows-it }\n".to_owned();
    for (more, tokens) in [(SMALL_WINDOW.to_owned(), 15_900), (off, 19_000), (unknown, 900_000)] {
        let script = Script::default().then_always(weighing("Noted.", tokens));
        let fixture = Fixture::with(script, WireDialect::Anthropic, &more).await;
        for _ in 0..2 {
            fixture.say("c-1", alice(), &long_words()).await;
        }
        // The third turn starts after the compaction of the second.
        fixture.say("c-1", alice(), "and?").await;
        assert!(!fixture.provider.requests().iter().any(asks_for_summary), "{more}");
    }
}

#[tokio::test]
async fn large_prompt_alone_causes_no_compaction() {
    let script = Script::answering(|request| {
        if asks_for_summary(request) { weighing("Little.", 19_000) } else { weighing("Noted.", 19_000) }
    });
    let fixture = Fixture::with(script, WireDialect::Anthropic, SMALL_WINDOW).await;
    fixture.say("c-1", alice(), &long_words()).await;
    until(&fixture, |history| history.compaction == 1).await;
    for _ in 0..3 {
        fixture.say("c-1", alice(), "hello").await;
    }
    let summaries = fixture.provider.requests().iter().filter(|request| asks_for_summary(request)).count();
    assert_eq!(summaries, 1);
}

#[tokio::test]
async fn shutdown_waits_for_a_started_summary() {
    let slow = weighing("They spoke of boats.", 17_100).after(Duration::from_millis(500));
    let fixture =
        Fixture::with([weighing("Noted.", 17_000), slow], WireDialect::Anthropic, SMALL_WINDOW).await;
    fixture.say("c-1", alice(), &long_words()).await;
    fixture.provider.until(|counts| counts.requests == 2).await;
    fixture.agent.shut_down().await;
    assert_eq!(fixture.store.history(&c1()).await.unwrap().compaction, 1);
}

#[tokio::test]
async fn cancel_stops_only_the_summary() {
    let replies = [Reply::text("Noted."), Reply::silence(), Reply::text("Here.")];
    let fixture = Fixture::new(replies).await;
    fixture.say("c-1", alice(), "hello").await;
    let before = fixture.store.history(&c1()).await.unwrap();
    let agent = fixture.agent.clone();
    let asked = tokio::spawn(async move { agent.compact(&c1(), alice()).await });
    fixture.provider.until(|counts| counts.requests == 2).await;
    fixture.agent.cancel(&c1());
    let error = asked.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("cancelled: nothing has changed"), "{error}");
    assert_eq!(fixture.store.history(&c1()).await.unwrap(), before);
    let turns = fixture.store.turns(&c1(), None, 1).await.unwrap();
    assert_eq!(turns[0].state, TurnState::Ended(Outcome::Cancelled));
    assert_eq!(fixture.say("c-1", alice(), "there?").await.text(), "Here.");
}

#[tokio::test]
async fn summary_in_a_turn_counts_towards_its_usage() {
    let too_long = Reply::status(400).message("prompt is too long: 210000 tokens > 200000 maximum");
    let replies = [weighing("Noted.", 100), too_long, weighing("Boats.", 1_000), weighing("Done.", 30)];
    let fixture = Fixture::new(replies).await;
    fixture.say("c-1", alice(), "remember the boats").await;
    let seen = fixture.say("c-1", alice(), "what?").await;
    let ended = seen.progress.iter().find_map(|item| match &**item {
        foreword_agent::conversation::feed::Progress::TurnEnded { usage, cost, .. } => Some((*usage, *cost)),
        _ => None,
    });
    let (usage, cost) = ended.unwrap();
    assert_eq!((usage.input, usage.output), (1_030, 20));
    let log = fixture.log().await;
    let completed = log.iter().rev().find(|event| event.event.event_type.to_string() == "turn_completed");
    let completed = &completed.unwrap().event;
    assert_eq!((completed.tokens_in, completed.tokens_out), (Some(1_030), Some(20)));
    assert_eq!(completed.cost_usd, cost.known().map(|cost| cost.dollars()));
}

#[tokio::test]
async fn background_compaction_skips_short_and_busy_conversations() {
    let script = Script::answering(|request| {
        let conversation = request.conversation();
        if asks_for_summary(request) && conversation.contains("this one fails") {
            Reply::status(401)
        } else if asks_for_summary(request) {
            weighing("Summed up.", 9_100)
        } else if conversation.contains("never ends") {
            Reply::silence()
        } else {
            weighing("Noted.", if conversation.contains("the harbour") { 9_000 } else { 500 })
        }
    });
    let fixture = Fixture::with(script, WireDialect::Anthropic, SMALL_WINDOW).await;
    fixture.say("c-short", alice(), "hello").await;
    fixture.say("c-fails", alice(), &format!("this one fails: {}", long_words())).await;
    fixture.say("c-group", in_group("signal:carol"), &long_words()).await;
    fixture.say("c-1", alice(), &long_words()).await;
    fixture.say("c-busy", alice(), &long_words()).await;
    fixture.send("c-busy", alice(), "this turn never ends").await;
    let asked = fixture.provider.requests().len();
    fixture.provider.until(|counts| counts.requests >= 6).await;
    let done = fixture.agent.compact_long().await.unwrap();
    let mut became: Vec<(&str, bool)> =
        done.iter().map(|one| (one.conversation.as_str(), one.outcome.is_ok())).collect();
    became.sort_unstable();
    assert_eq!(became, [("c-1", true), ("c-fails", false), ("c-group", true)], "{done:?} {asked}");
    let group = fixture.store.history(&ConversationId::new("c-group").unwrap()).await.unwrap();
    assert_eq!(group.messages[0].message.trust, foreword_prompt::trust::Trust::Familiar);
    assert_eq!(failures(&fixture).await.len(), 1);
    // What is short now is not summed up once more.
    let again = fixture.agent.compact_long().await.unwrap();
    assert_eq!(again.iter().map(|one| one.conversation.as_str()).collect::<Vec<_>>(), ["c-fails"]);
}

#[tokio::test]
async fn background_compaction_uses_tokens_without_a_known_window() {
    let more = "agent: { name: Ada, model: anthropic/nobody-knows-it, compaction: { night_tokens: 8000 } }\n";
    let script = Script::answering(|request| {
        if asks_for_summary(request) { weighing("Summed up.", 9_100) } else { weighing("Noted.", 9_000) }
    });
    let fixture = Fixture::with(script, WireDialect::Anthropic, more).await;
    fixture.say("c-1", alice(), &long_words()).await;
    assert_eq!(fixture.agent.compact_long().await.unwrap().len(), 1);
}

#[tokio::test]
async fn compaction_locks_the_conversation_across_nodes() {
    let slow = weighing("Summed up.", 9_100).after(Duration::from_secs(2));
    let script = Script::from([weighing("Noted.", 9_000), slow, Reply::text("Behind it.")]);
    let setting = Setting::lease(Duration::from_millis(1_500));
    let fixture = Fixture::set(script, setting.clone(), SMALL_WINDOW).await;
    let other = fixture.another(setting).await;
    other.agent.recover().await.unwrap();
    fixture.say("c-1", alice(), &long_words()).await;
    let agent = fixture.agent.clone();
    let night = tokio::spawn(async move { agent.compact_long().await });
    fixture.provider.until(|counts| counts.requests == 2).await;
    assert!(other.agent.compact_long().await.unwrap().is_empty(), "it is busy");
    let text = "from the other node".to_owned();
    let inbound = foreword_agent::conversation::inbound::Inbound {
        conversation: c1(),
        origin: alice(),
        text,
        key: None,
    };
    let answer = other.agent.ask(inbound).await.unwrap();
    assert_eq!(night.await.unwrap().unwrap().len(), 1);
    assert!(format!("{answer:?}").contains("Behind it."), "{answer:?}");
    assert!(fixture.provider.requests()[2].conversation().contains("Summed up."));
}
