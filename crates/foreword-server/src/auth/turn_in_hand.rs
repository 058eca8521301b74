//! What a token's turns take of its limits, though no request may wait for them: a place among its turns, and what they cost.
//! That is counted once, however many messages a turn answers, and whichever node answers them.

use std::pin::pin;
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

use super::limits::{Admitted, Bill};
use crate::app::App;

/// How long a turn keeps its place.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// How long what it costs is waited for without one: a turn may wait for the owner's word.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How often is looked whether another node has answered.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long what another node has noted takes to be on record. What is not by then is not charged.
const WRITTEN_AFTER: Duration = Duration::from_secs(3);
/// How long what was noted here may take.
const FLUSHED_WITHIN: Duration = Duration::from_secs(5);
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
        let mut end = pin!(waiting.end(&feed, from));
        match timeout(PATIENCE, end.as_mut()).await {
            Ok(end) => waiting.pay(end, admitted.leave()).await,
            Err(_) => {
                let bill = admitted.leave();
                if let Ok(end) = timeout(LONGEST, end).await {
                    waiting.pay(end, bill).await;
                }
            }
        }
    });
}

/// Keeps the place while a workflow runs, and notes what its turns have cost. One that is refused has none: those that run
/// in its conversation are somebody else's.
pub(crate) fn keep_run<T: Send + 'static, E: Send + 'static>(
    app: &App,
    admitted: Admitted,
    run: &RunId,
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> JoinHandle<Result<T, E>> {
    let (app, began, conversation) = (app.clone(), app.now(), conversation_of(run));
    tokio::spawn(async move {
        let end = Box::pin(work).await;
        let paid = if end.is_ok() { conversation.ok() } else { None };
        if let Some(conversation) = paid {
            // What it has noted is on record then. A store that is away is not waited for.
            let _ = timeout(FLUSHED_WITHIN, app.events.flush()).await;
            admitted.leave().pay(on_record(&app.store, &conversation, (began, None)).await);
        }
        end
    })
}

/// What the turns of a conversation from `since` on have cost, or one of them.
async fn on_record(
    store: &Store,
    conversation: &ConversationId,
    (since, only): (Timestamp, Option<&TurnId>),
) -> Money {
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
    /// In a turn that was not heard of here from its beginning, and which this message pays.
    OnRecord(Box<Turn>),
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
                    return if is_first { End::OnRecord(Box::new(turn)) } else { End::Here(None) };
                }
                continue;
            };
            from = batch.next;
            for progress in &batch.items {
                match &**progress {
                    // One that goes on tells only what it costs from then on: the record has all of it.
                    Progress::TurnStarted { turn, messages, resumed: false, .. }
                        if messages.contains(&self.message) =>
                    {
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

    async fn pay(&self, end: End, bill: Bill) {
        match end {
            End::Here(cost) => bill.pay(cost.unwrap_or(Money::ZERO)),
            End::OnRecord(turn) => {
                sleep(WRITTEN_AFTER).await;
                let span = (turn.started_at, Some(&turn.id));
                bill.pay(on_record(&self.store, &turn.conversation, span).await);
            }
        }
    }
}
