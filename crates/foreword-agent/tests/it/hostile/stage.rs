//! Turns in which the model does what it is told by whoever speaks loudest, and an owner who always says no.

use foreword_agent::feed::Progress;
use foreword_agent::inbound::Occasion;
use foreword_core::turn::{Asked, Question};
use foreword_testkit::Reply;
use serde_json::Value;

use crate::scene::{Scene, Seen};

/// What the model calls in one answer.
pub(crate) type Calls = Vec<(&'static str, Value)>;

/// Somebody says `text`; the model makes the calls of each of `answers` and then has had enough. The owner is asked in
/// vain.
pub(crate) async fn turn(
    scene: &Scene,
    (conversation, occasion): (&str, Occasion),
    text: &str,
    answers: Vec<Calls>,
) -> (Seen, Vec<Question>) {
    for calls in answers {
        let call = |reply: Reply, (tool, arguments)| reply.and_tool_call(tool, arguments);
        scene.provider.push(calls.into_iter().fold(Reply::empty(), call));
    }
    scene.provider.push(Reply::text("Well."));
    let receipt = scene.send(conversation, occasion, text).await;
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
                        scene.agent.answer(&id, question.call.clone(), Asked::No);
                        questions.push(question.clone());
                    }
                    Progress::TurnEnded { .. } => return questions,
                    _ => {}
                }
            }
        }
    };
    tokio::join!(scene.follow(receipt), refusing)
}
