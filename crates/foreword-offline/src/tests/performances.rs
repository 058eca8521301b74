//! Streaming: word by word, with pauses, by attempt.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::message::ContentBlock;
use foreword_core::model::{ErrorKind, Model, ModelEvent, RequestRole, StopReason};
use foreword_prompt::trust::Trust;
use futures_util::StreamExt;

use super::{Talk, asked};
use crate::OfflineModel;

async fn statuses(talk: &Talk, attempts: usize) -> Vec<Option<u16>> {
    let mut found = Vec::new();
    for _ in 0..attempts {
        found.push(talk.try_once().await.error.and_then(|error| error.status));
    }
    found
}

#[tokio::test]
async fn attempts_fail_then_succeed_and_start_again() {
    let talk = asked("!fail 429 times=3");
    let cycle = [Some(429), Some(429), Some(429), None];
    assert_eq!(statuses(&talk, 8).await, [cycle, cycle].concat());
    assert_eq!(statuses(&asked("!fail 500"), 5).await, [Some(500); 5], "without a number it never succeeds");
}

#[tokio::test]
async fn several_failures_come_one_after_the_other() {
    let talk = asked("!fail 429 times=2\n!fail 500 times=1\n!say At last.");
    assert_eq!(statuses(&talk, 3).await, [Some(429), Some(429), Some(500)]);
    assert_eq!(talk.try_once().await.text(), "At last.");
}

#[tokio::test]
async fn attempts_are_counted_per_conversation_across_queueing() {
    let at = |time: &str, key: &str| {
        let mut talk =
            asked(&format!("<turn-context>\n- Time: {time}\n</turn-context>\n\n!fail 503 times=2"));
        talk.request.cache.key = Some(key.into());
        talk
    };
    let model = OfflineModel::new();
    let with_model = |mut talk: Talk| {
        talk.model = model.clone();
        talk
    };
    let (early, late) = (with_model(at("02:47", "a")), with_model(at("03:10", "a")));
    let other = with_model(at("02:47", "b"));
    assert_eq!(statuses(&early, 1).await, [Some(503)]);
    assert_eq!(statuses(&other, 3).await, [Some(503), Some(503), None]);
    assert_eq!(statuses(&late, 2).await, [Some(503), None]);
}

#[tokio::test]
async fn too_long_context_succeeds_after_compaction() {
    let mut talk = asked("a long story");
    talk.answer().await;
    talk.say("!fail context times=1");
    assert_eq!(talk.try_once().await.error.unwrap().kind, ErrorKind::ContextTooLong);
    talk.request.messages.drain(..2);
    assert!(talk.try_once().await.error.is_none());
}

#[tokio::test]
async fn failure_can_occur_in_a_later_round() {
    let mut talk = asked("!tool foreword_status\n!then\n!fail 529 times=1");
    talk.answer().await;
    talk.give_back("fine");
    assert_eq!(talk.try_once().await.error.unwrap().status, Some(529));
    assert!(talk.try_once().await.text().starts_with("1 call came back, 0 with an error."));
}

#[tokio::test]
async fn interrupted_answer_is_continued() {
    let mut talk = asked("!fail cut \"The ferry \" times=1\n!say The ferry leaves at noon.");
    let broken = talk.try_once().await;
    talk.push(RequestRole::Assistant, vec![ContentBlock::text(broken.text())]);
    assert_eq!(talk.try_once().await.text(), "leaves at noon.");
}

#[tokio::test]
async fn answer_respects_the_output_limit() {
    let mut talk = asked("!long 100 words");
    talk.request.max_output = Some(20);
    let answer = talk.try_once().await;
    assert_eq!(answer.stop(), Some(&StopReason::MaxTokens));
    assert!(answer.usage().output <= 20 && answer.deltas().len() < 20 && !answer.deltas().is_empty());
    talk.say(
        "!tool memory_search {\"query\":\"a query that is longer than what is left of the answer, by far\"}",
    );
    talk.request.max_output = Some(5);
    let answer = talk.try_once().await;
    assert_eq!((answer.calls().len(), answer.stop()), (0, Some(&StopReason::MaxTokens)));
}

#[tokio::test(start_paused = true)]
async fn pauses_occur_between_words_only_if_requested() {
    let took = async |talk: &Talk| {
        let start = tokio::time::Instant::now();
        talk.try_once().await;
        start.elapsed()
    };
    assert_eq!(took(&asked("!say one two three")).await, Duration::ZERO);
    // Timers have millisecond resolution and never fire early.
    let slow = took(&asked("!say one two three\n!slow 50ms")).await;
    assert!((100..110).contains(&slow.as_millis()), "{slow:?}");
    let waited = took(&asked("!wait 2s\n!say one")).await;
    assert!((2_000..2_010).contains(&waited.as_millis()), "{waited:?}");
    let mut paused = asked("!say one two");
    paused.model = OfflineModel::new().with_pause(Duration::from_millis(20));
    assert!((20..30).contains(&took(&paused).await.as_millis()));
}

#[tokio::test(start_paused = true)]
async fn hang_lasts_until_the_stream_is_dropped() {
    let talk = asked("!say Wait\n!hang");
    let mut stream = talk.model.call(Arc::new(talk.request.clone()));
    let mut said = String::new();
    let timeout = Duration::from_secs(86_400);
    while let Ok(Some(event)) = tokio::time::timeout(timeout, stream.next()).await {
        if let Ok(ModelEvent::Text(word)) = event {
            said.push_str(&word);
        }
    }
    assert_eq!(said, "Wait");
    assert!(tokio::time::timeout(timeout, stream.next()).await.is_err(), "it has not ended");
}

#[tokio::test]
async fn stream_does_nothing_before_the_first_poll() {
    let talk = asked("!fail 500 times=1");
    drop(talk.model.call(Arc::new(talk.request.clone())));
    assert_eq!(statuses(&talk, 2).await, [Some(500), None]);
}

#[tokio::test]
async fn same_conversation_gives_the_same_events() {
    let run = async || {
        let mut talk = Talk::at(Trust::Full);
        let mut events = Vec::new();
        for said in ["hello", "what's Carol's birthday?", "!long 20 words", "!many 3 bash"] {
            talk.say(said);
            events.extend(talk.answer().await.events);
            if !talk
                .request
                .messages
                .last()
                .unwrap()
                .content
                .iter()
                .all(|block| matches!(block, ContentBlock::Text { .. }))
            {
                talk.give_back("private/a.md\n- Carol: birthday 14 March");
                events.extend(talk.answer().await.events);
            }
        }
        events
    };
    assert_eq!(run().await, run().await);
}
