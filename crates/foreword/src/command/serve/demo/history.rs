//! The history of the demo's household, made by really running turns before anybody looks: so that every view has something
//! true to show. What can't be made is told of, and no reason not to serve the rest.

use std::time::Instant;

use foreword_store::conversations::ConversationPage;
use foreword_store::workflow_runs::RunFilter;

use super::house::House;
use super::scenes;
use crate::failure::Failure;
use crate::output::{DIM, Output, counted, styled};
use crate::running::Running;

/// The most of anything that is counted.
const MOST: u32 = 1_000;

/// Plays all scenes, and says what there is to see.
pub(in super::super) async fn make(running: &Running, output: &Output) {
    let began = Instant::now();
    let failures = play(&House::new(running)).await;
    for failure in &failures {
        let why = failure.problems().into_iter().map(|problem| problem.message).next().unwrap_or_default();
        output.warn(&format!("a part of the demo's history is missing: {why}"));
    }
    // Why a cache was missed is looked into beside the turns.
    running.agent.settled().await;
    if let (false, Ok(made)) = (output.wants_json(), made(running).await) {
        let took = began.elapsed().as_secs_f64();
        output.say(&styled(DIM, format!("{made}; it took {took:.1} s")));
    }
}

/// All at once, as in any house; each scene by itself goes on in order, and one comes last.
async fn play(house: &House<'_>) -> Vec<Failure> {
    let talks = async {
        tokio::join!(
            Box::pin(scenes::birthday(house)),
            Box::pin(scenes::group(house)),
            Box::pin(scenes::rate_limited(house)),
            Box::pin(scenes::workshop(house)),
            Box::pin(scenes::failure(house)),
            Box::pin(scenes::mishaps(house)),
            Box::pin(scenes::shed(house)),
        )
    };
    let rest = async {
        tokio::join!(
            Box::pin(scenes::letters(house)),
            Box::pin(scenes::stall(house)),
            Box::pin(scenes::inbox(house)),
            Box::pin(scenes::by_itself(house)),
        )
    };
    let (talks, rest) = tokio::join!(Box::pin(talks), Box::pin(rest));
    let last = Box::pin(scenes::fortieth(house)).await;
    let all =
        [talks.0, talks.1, talks.2, talks.3, talks.4, talks.5, talks.6, rest.0, rest.1, rest.2, rest.3, last];
    all.into_iter().filter_map(Result::err).collect()
}

/// What there is, as the store counts it.
async fn made(running: &Running) -> Result<String, Failure> {
    let store = &running.store;
    let conversations = store.conversations(ConversationPage::first(MOST)).await?.len();
    let turns = store.count_turns().await?;
    let answers = store.outbox_messages(u64::from(MOST)).await?.len();
    let runs = store.workflow_runs(RunFilter::default(), MOST).await?.len();
    let templates = store.template_history().await?.len();
    let number = |number: usize, what: &str| counted(u64::try_from(number).unwrap_or(u64::MAX), what);
    Ok(format!(
        "{} with {}, {} to letters, {} and {} of the template were made by the offline model",
        number(conversations, "conversation"),
        counted(turns, "turn"),
        number(answers, "answer"),
        number(runs, "workflow run"),
        number(templates, "version"),
    ))
}
