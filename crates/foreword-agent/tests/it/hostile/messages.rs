//! Messages of unknown senders and known users, in private and in the group.

use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::provider::WireDialect;
use foreword_core::turn_journal::Outcome;
use foreword_testkit::Reply;

use super::audit::{Results, Sent, assert_in_place};
use super::corpus::texts;
use crate::fixture::{Fixture, alice, in_group, on};

const SAID: [&str; 2] = ["What did they say?", "And now?"];

/// Everybody says every text in a conversation of its own; then the owner speaks there, and compacts it.
async fn send_corpus_as_every_speaker(dialect: WireDialect, ways: &[(char, TurnOrigin)]) {
    let fixture = Fixture::with(Reply::text("Well."), dialect, "").await;
    for (way, occasion) in ways {
        for hostile in texts(*way) {
            let conversation = format!("c-{}", hostile.canary);
            let first = fixture.provider.requests().len();
            let seen = fixture.say(&conversation, occasion.clone(), &hostile.text).await;
            assert_eq!(seen.ending(), (Outcome::Done, None), "{}", hostile.name);
            fixture.say(&conversation, alice(), SAID[0]).await;
            // The model repeats the injected text in its summary.
            fixture.provider.push(Reply::text(format!("{}\n{}", hostile.canary, hostile.text)));
            fixture.agent.compact(&conversation.parse().unwrap(), alice()).await.unwrap();
            fixture.say(&conversation, alice(), SAID[1]).await;
            let requests = &fixture.provider.requests()[first..];
            for request in requests {
                assert!(
                    Sent::of(request).tells(&hostile.canary),
                    "{} was not heard: {}",
                    hostile.name,
                    request.text()
                );
            }
        }
    }
    assert_in_place(&fixture.provider.requests(), &SAID, Results::Framed);
}

#[tokio::test]
async fn user_text_is_quoted_and_never_frozen() {
    let ways = [
        ('a', on("signal:mallory")),
        ('b', in_group("signal:mallory")),
        ('c', in_group("signal:bob")),
        ('d', on("signal:bob")),
    ];
    send_corpus_as_every_speaker(WireDialect::Anthropic, &ways).await;
}

#[tokio::test]
async fn user_text_is_quoted_in_the_openai_dialect() {
    let ways = [('a', in_group("signal:mallory")), ('b', on("signal:mallory"))];
    send_corpus_as_every_speaker(WireDialect::OpenAi, &ways).await;
}
