//! Turns in which the model follows injected instructions, and the owner denies every confirmation.

use foreword_agent::conversation::feed::Progress;
use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::turn::{OwnerAnswer, Question};
use foreword_testkit::Reply;
use serde_json::Value;

use crate::fixture::{Fixture, Seen, alice};

/// What the model calls in one answer.
pub(crate) type Calls = Vec<(&'static str, Value)>;

/// A user sends `text`; the model makes the calls of each of `answers` and ends. The owner denies every confirmation.
pub(crate) async fn turn(
    fixture: &Fixture,
    conversation: &str,
    occasion: TurnOrigin,
    text: &str,
    answers: Vec<Calls>,
) -> (Seen, Vec<Question>) {
    for calls in answers {
        let call = |reply: Reply, (tool, arguments)| reply.and_tool_call(tool, arguments);
        fixture.provider.push(calls.into_iter().fold(Reply::empty(), call));
    }
    fixture.provider.push(Reply::text("Well."));
    let receipt = fixture.send(conversation, occasion, text).await;
    let (feed, mut next) = (receipt.feed.clone(), receipt.from);
    let refusing = async {
        let mut questions = Vec::new();
        loop {
            let batch = feed.read(next).await;
            next = batch.next;
            for item in batch.items {
                match &*item {
                    Progress::Question(question) => {
                        let id = conversation.parse().unwrap();
                        fixture.agent.answer(&id, &alice(), question.call.clone(), OwnerAnswer::No);
                        questions.push(question.clone());
                    }
                    Progress::TurnEnded { .. } => return questions,
                    _ => {}
                }
            }
        }
    };
    tokio::join!(fixture.follow(receipt), refusing)
}
