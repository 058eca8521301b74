//! Meters the turns that a token starts: holds a turn permit until the turn ends, and charges its cost. A turn is
//! charged once, however many messages it answers and whichever node runs it.

use std::pin::pin;
use std::time::Duration;

use foreword_agent::agent::Receipt;
use foreword_agent::background::workflows::conversation_of;
use foreword_agent::conversation::wait_for_answer::{EndedTurn, PendingMessage, WaitLimits, WaitOutcome};
use foreword_core::id::{ConversationId, RunId, TurnId};
use foreword_core::money::Money;
use foreword_core::timestamp::Timestamp;
use foreword_store::store::Store;
use foreword_store::turns::TurnFilter;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::limits::TurnPermit;
use crate::app::App;

/// How long a turn holds its permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// How long the cost is awaited without a permit: a turn may wait for the owner's approval.
const COST_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// How long another node's events take to be stored. Later ones are not charged.
const RECORD_DELAY: Duration = Duration::from_secs(3);
/// The timeout of storing this node's events.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
const PAGE: u32 = 200;

/// Holds the permit until the message is answered, and charges the cost.
pub(crate) fn meter_message(app: &App, permit: TurnPermit, receipt: &Receipt) {
    // A message sent before is metered already.
    if receipt.before {
        return;
    }
    let (app, message) = (app.clone(), PendingMessage::from(receipt));
    tokio::spawn(async move {
        let mut end = pin!(app.agent.wait_through_outages(&message, WaitLimits::default()));
        let in_time = timeout(PERMIT_TIMEOUT, end.as_mut()).await;
        let account = permit.release();
        let end = match in_time {
            Ok(end) => Ok(end),
            Err(_) => timeout(COST_TIMEOUT, end).await,
        };
        if let Ok(WaitOutcome::Answered(turn) | WaitOutcome::Failed(turn) | WaitOutcome::Cancelled(turn)) =
            end
        {
            account.charge(cost(&app.store, &turn).await);
        }
    });
}

/// The cost of an ended turn for one of its messages: the first one pays.
async fn cost(store: &Store, EndedTurn { answer, usage, .. }: &EndedTurn) -> Money {
    match usage {
        _ if !answer.is_first => Money::ZERO,
        Some(usage) if usage.is_complete => usage.cost.known().unwrap_or(Money::ZERO),
        // Another node ran it, or a part of it: the stored events have all of its cost.
        _ => {
            sleep(RECORD_DELAY).await;
            let turn = &answer.turn;
            recorded_cost(store, &turn.conversation, turn.started_at, Some(&turn.id)).await
        }
    }
}

/// Holds the permit while a workflow runs, and charges its turns. A refused run is not charged: the turns of its
/// conversation belong to another one.
pub(crate) fn meter_run<T: Send + 'static, E: Send + 'static>(
    app: &App,
    permit: TurnPermit,
    run: &RunId,
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> JoinHandle<Result<T, E>> {
    let (app, began, conversation) = (app.clone(), app.now(), conversation_of(run));
    tokio::spawn(async move {
        let end = Box::pin(work).await;
        let paid = if end.is_ok() { conversation.ok() } else { None };
        if let Some(conversation) = paid {
            // Stores the events of its cost, with a timeout.
            let _ = timeout(FLUSH_TIMEOUT, app.events.flush()).await;
            permit.release().charge(recorded_cost(&app.store, &conversation, began, None).await);
        }
        end
    })
}

/// The cost of a conversation's turns from `since` on, or of one of them.
async fn recorded_cost(
    store: &Store,
    conversation: &ConversationId,
    since: Timestamp,
    only: Option<&TurnId>,
) -> Money {
    let filter =
        TurnFilter { session: Some(conversation.clone()), since: Some(since), ..TurnFilter::default() };
    let (mut sum, mut after) = (Money::ZERO, None);
    // If the store fails, the rest is not charged.
    while let Ok(page) = store.list_turns(filter.clone(), after, PAGE).await {
        let counted = page.iter().filter(|turn| only.is_none_or(|only| *only == turn.id));
        sum = counted.filter_map(|turn| turn.sums.cost).fold(sum, |sum, cost| sum + cost);
        let Some(last) = page.last().filter(|_| page.len() == PAGE as usize) else { break };
        after = Some(last.key());
    }
    sum
}
