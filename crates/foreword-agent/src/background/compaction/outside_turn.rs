//! Compacts a conversation outside of a turn. A separate turn holds the lease meanwhile, so that no other turn starts,
//! here or on another node. Incoming messages queue in order.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::compaction::{CompactionTrigger, ContextSize};
use foreword_core::event::{Event, EventType};
use foreword_core::turn_journal::Outcome;
use foreword_prompt::untrusted::display_line;
use foreword_store::turns::{BeginOutcome, FinishTurn, TakeMessages, TurnLease};

use super::{CompactionResult, compact, measure, with_lease};
use crate::conversation::feed::{Feed, Progress};
use crate::conversation::mailbox::{Mailbox, begin_turn};
use crate::error::AgentError;
use crate::shared::Shared;
use crate::turn::await_tool_servers;
use crate::turn::prepare::prepare;
use crate::turn::scope::TurnScope;
use crate::turn::turn_log::TurnLog;

/// Maximum length of a reason in the log.
const MAX_REASON_CHARS: usize = 500;

/// How long a shutdown waits for an automatic summary. Without it, a caller that starts a process for each message
/// would pay for a summary every time and never get one.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// Compacts a conversation in which no turn runs, until it is cancelled.
pub(crate) async fn on_request(
    shared: &Arc<Shared>,
    scope: &TurnScope,
    mailbox: &mut Mailbox,
) -> Result<CompactionResult, AgentError> {
    compact_cancellable(shared, scope, mailbox, Duration::ZERO).await
}

async fn compact_cancellable(
    shared: &Arc<Shared>,
    scope: &TurnScope,
    mailbox: &mut Mailbox,
    grace: Duration,
) -> Result<CompactionResult, AgentError> {
    let begin = begin_turn(shared, scope, TakeMessages::Nothing)?;
    let BeginOutcome::Begun(begun) = shared.store.begin_turn(begin).await? else {
        return Err(AgentError::Busy(scope.conversation.clone()));
    };
    let hold = begun.hold;
    let work = async {
        await_tool_servers::settled(shared).await;
        let prepared = prepare(shared, scope, Some(&hold.turn), None).await?;
        let random = shared.clock_and_rng.random();
        let (turn, conversation) = (hold.turn.clone(), scope.conversation.clone());
        let log = TurnLog::new(shared.recorder.clone(), turn, conversation, &prepared, Vec::new(), random);
        shared.recorder.in_turn(log.names(), compact(shared, scope, &prepared, &hold)).await
    };
    let shortened = tokio::select! {
        biased;
        () = cancelled(mailbox, grace) => Err(AgentError::CompactionCancelled(scope.conversation.clone())),
        shortened = with_lease(shared, &hold, Box::pin(work)) => shortened,
    };
    end(shared, &hold, shortened.as_ref().err()).await?;
    shortened
}

/// Waits for a cancellation, or for `grace` after a shutdown request.
async fn cancelled(mailbox: &mut Mailbox, grace: Duration) {
    // An earlier shutdown request is not repeated.
    if !mailbox.is_stopping() {
        mailbox.cancelled().await;
    }
    if mailbox.is_stopping() {
        // A cancellation ends the grace period.
        let _ = tokio::time::timeout(grace, mailbox.cancelled()).await;
    }
}

/// Ends the turn that held the lease, without a reply.
async fn end(shared: &Shared, hold: &TurnLease, error: Option<&AgentError>) -> Result<(), AgentError> {
    let outcome = match error {
        None => Outcome::Done,
        Some(AgentError::CompactionCancelled(_)) => Outcome::Cancelled,
        Some(_) => Outcome::Failed,
    };
    let finish = FinishTurn {
        outcome,
        reply: Vec::new(),
        failure: error.map(AgentError::to_failure),
        at: shared.now(),
    };
    shared.store.finish_turn(hold, finish).await?;
    Ok(())
}

/// Compacts the conversation after a turn, if it exceeds its share of the context window. A failure changes nothing and
/// is retried after the next turn.
pub(crate) async fn after_turn(shared: &Arc<Shared>, scope: &TurnScope, mailbox: &mut Mailbox, feed: &Feed) {
    // Start nothing during a shutdown.
    if mailbox.is_stopping() {
        return;
    }
    // After a store error, try again after the next turn.
    let Ok(Some(measured)) = measure::due(shared, scope, CompactionTrigger::TurnEnded).await else { return };
    feed.publish(Progress::Status(format!(
        "The conversation fills {} % of the context window. Summarising...",
        percent(&measured)
    )));
    match compact_cancellable(shared, scope, mailbox, SHUTDOWN_TIMEOUT).await {
        Ok(_) => feed.publish(Progress::Compacted),
        // A message arrived first, or a user cancelled. The next turn triggers compaction again.
        Err(AgentError::Busy(_) | AgentError::CompactionCancelled(_)) => {}
        Err(error) => {
            let cause = error.cause().for_record().clone();
            let text = format!("Compaction failed, the conversation is unchanged: {cause}");
            feed.publish(Progress::Problem(text.into()));
            log_failure(shared, scope, &error);
        }
    }
}

fn percent(measured: &ContextSize) -> usize {
    let window = measured.window.unwrap_or(measured.weight).max(1);
    measured.weight.saturating_mul(100) / window
}

/// Logs a failed compaction.
pub(super) fn log_failure(shared: &Shared, scope: &TurnScope, error: &AgentError) {
    shared.log(Event {
        session_id: Some(scope.conversation.clone()),
        error: Some(display_line(error.cause().for_record(), MAX_REASON_CHARS)),
        ..Event::new(EventType::CompactionFailed, shared.now())
    });
}
