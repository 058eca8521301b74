//! What a token's turns take of its limits, though no request may wait for them: a place among its turns, and what they cost.
//! That is counted once, however many messages a turn answers, and whichever node answers them.

use std::time::Duration;

use foreword_agent::agent::Receipt;
use foreword_agent::feed::{Feed, Progress};
use foreword_agent::workflows::conversation_of;
use foreword_core::id::{ConversationId, MessageId, RunId, TurnId};
use foreword_core::money::Money;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::TurnState;
use foreword_store::store::Store;
use foreword_store::turns::{Answer, Turn, TurnFilter};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::limits::Admitted;
use crate::app::App;

/// How long a turn is waited for at most.
const PATIENCE: Duration = Duration::from_secs(900);
/// How often is looked whether another node has answered.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long what was noted, here or by another node, takes to be on record.
const WRITTEN_AFTER: Duration = Duration::from_secs(3);
/// How many turns are looked at together.
const PAGE: u32 = 200;

/// Keeps the place until the message was answered, and notes what that has cost.
pub(crate) fn keep(app: &App, admitted: Admitted, receipt: &Receipt) {
    // What was taken in before has its place already.
    if receipt.before {
        return;
    }
    let waiting = Waiting { store: app.store.clone(), message: receipt.message.message.id.clone() };
    let (feed, from) = (receipt.feed.clone(), receipt.from);
    tokio::spawn(async move {
        // Dropping the place is all there is to do when it takes too long.
        match timeout(PATIENCE, waiting.end(&feed, from)).await {
            Ok(End::Here(cost)) => cost.into_iter().for_each(|cost| admitted.spent(cost)),
            Ok(End::Elsewhere(turn)) => {
                let bill = admitted.leave();
                let span = (turn.started_at, Some(&turn.id));
                bill.pay(on_record(&waiting.store, &turn.conversation, span).await);
            }
            Err(_) => {}
        }
    });
}

/// Keeps the place while a workflow runs, and notes what its turns have cost.
pub(crate) fn keep_run<T: Send + 'static>(
    app: &App,
    admitted: Admitted,
    run: &RunId,
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let (store, began, conversation) = (app.store.clone(), app.now(), conversation_of(run));
    tokio::spawn(async move {
        let end = Box::pin(work).await;
        let bill = admitted.leave();
        // Whoever waits for the end does not wait for the bill.
        tokio::spawn(async move {
            if let Ok(conversation) = conversation {
                bill.pay(on_record(&store, &conversation, (began, None)).await);
            }
        });
        end
    })
}

/// What the turns of a conversation from `since` on have cost, or one of them.
async fn on_record(
    store: &Store,
    conversation: &ConversationId,
    (since, only): (Timestamp, Option<&TurnId>),
) -> Money {
    sleep(WRITTEN_AFTER).await;
    let filter =
        TurnFilter { session: Some(conversation.clone()), since: Some(since), ..TurnFilter::default() };
    let (mut sum, mut after) = (Money::ZERO, None);
    // A store that is away leaves the rest unpaid: it is not waited for.
    while let Ok(page) = store.list_turns(filter.clone(), after, PAGE).await {
        let counted = page.iter().filter(|turn| only.is_none_or(|only| *only == turn.id));
        sum = counted.filter_map(|turn| turn.sums.cost).fold(sum, |sum, cost| sum + cost);
        let Some(last) = page.last().filter(|_| page.len() == PAGE as usize) else { break };
        after = Some(last.key());
    }
    sum
}

/// How a message was answered.
enum End {
    /// In a turn of this node, for so much; nothing if another message of it pays, or nobody knows.
    Here(Option<Money>),
    /// In a turn that was not heard of here, and which this message pays.
    Elsewhere(Turn),
}

/// A message that is to be answered.
struct Waiting {
    store: Store,
    message: MessageId,
}

impl Waiting {
    async fn end(&self, feed: &Feed, mut from: u64) -> End {
        let mut ours: Option<(TurnId, bool)> = None;
        loop {
            let Ok(batch) = timeout(LOOK_EVERY, feed.read(from)).await else {
                // What runs here is heard of here. A store that is away is asked again.
                if ours.is_none()
                    && let Ok(Some(answer)) = self.store.answer_to(&self.message).await
                    && answer.turn.state != TurnState::Running
                {
                    let Answer { turn, is_first, .. } = answer;
                    return if is_first { End::Elsewhere(turn) } else { End::Here(None) };
                }
                continue;
            };
            from = batch.next;
            for progress in &batch.items {
                match &**progress {
                    Progress::TurnStarted { turn, messages, .. } if messages.contains(&self.message) => {
                        ours = Some((turn.clone(), messages.first() == Some(&self.message)));
                    }
                    Progress::TurnEnded { turn, cost, .. } => match &ours {
                        Some((ours, pays)) if ours == turn => {
                            return End::Here(cost.known().filter(|_| *pays));
                        }
                        _ => {}
                    },
                    // Whoever takes it up may be another.
                    Progress::TurnLeft { turn, .. } => ours = ours.filter(|(ours, _)| ours != turn),
                    _ => {}
                }
            }
            // What was missed may have been its end.
            if batch.missed > 0 {
                ours = None;
            }
        }
    }
}
