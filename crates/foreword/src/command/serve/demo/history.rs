//! Creates the demo's history by running real turns, so that every view has data. Failures are reported, and do not
//! stop the server.

use std::time::Instant;

use foreword_store::conversations::ConversationPage;
use foreword_store::workflow_runs::RunFilter;

use super::driver::Demo;
use super::sample_conversations;
use crate::failure::Failure;
use crate::output::{DIM, Output, counted, styled};
use crate::running_agent::RunningAgent;

/// The limit of each count.
const COUNT_LIMIT: u32 = 1_000;

/// Creates all sample conversations and prints a summary.
pub(in super::super) async fn make(running: &RunningAgent, output: &Output) {
    let began = Instant::now();
    let failures = create_all(&Demo::new(running)).await;
    for failure in &failures {
        let why = failure.problems().into_iter().map(|problem| problem.message).next().unwrap_or_default();
        output.warn(&format!("some sample data is missing: {why}"));
    }
    // Cache misses are analysed in the background.
    running.agent.settled().await;
    if let (false, Ok(summary)) = (output.wants_json(), summary(running).await) {
        let took = began.elapsed().as_secs_f64();
        output.print_stderr(&styled(DIM, format!("{summary}; it took {took:.1} s")));
    }
}

/// Creates the sample conversations concurrently, and the last one after the others.
async fn create_all(demo: &Demo<'_>) -> Vec<Failure> {
    let chats = async {
        tokio::join!(
            Box::pin(sample_conversations::memory_and_skills(demo)),
            Box::pin(sample_conversations::group_chat(demo)),
            Box::pin(sample_conversations::rate_limited(demo)),
            Box::pin(sample_conversations::less_trusted_user(demo)),
            Box::pin(sample_conversations::provider_failure(demo)),
            Box::pin(sample_conversations::failed_tools(demo)),
            Box::pin(sample_conversations::familiar_user(demo)),
        )
    };
    let rest = async {
        tokio::join!(
            Box::pin(sample_conversations::template_versions(demo)),
            Box::pin(sample_conversations::layer_versions(demo)),
            Box::pin(sample_conversations::inbox_messages(demo)),
            Box::pin(sample_conversations::schedules_and_workflows(demo)),
        )
    };
    let (chats, rest) = tokio::join!(Box::pin(chats), Box::pin(rest));
    let last = Box::pin(sample_conversations::budget_warning(demo)).await;
    let all =
        [chats.0, chats.1, chats.2, chats.3, chats.4, chats.5, chats.6, rest.0, rest.1, rest.2, rest.3, last];
    all.into_iter().filter_map(Result::err).collect()
}

/// Counts the created records in the store.
async fn summary(running: &RunningAgent) -> Result<String, Failure> {
    let store = &running.store;
    let conversations = store.conversations(ConversationPage::first(COUNT_LIMIT)).await?.len();
    let turns = store.count_turns().await?;
    let answers = store.outbox_messages(u64::from(COUNT_LIMIT)).await?.len();
    let runs = store.workflow_runs(RunFilter::default(), COUNT_LIMIT).await?.len();
    let templates = store.template_history().await?.len();
    let number = |number: usize, what: &str| counted(u64::try_from(number).unwrap_or(u64::MAX), what);
    Ok(format!(
        "{} with {}, {} to inbox messages, {} and {} of the template were made by the offline model",
        number(conversations, "conversation"),
        counted(turns, "turn"),
        number(answers, "answer"),
        number(runs, "workflow run"),
        number(templates, "version"),
    ))
}
