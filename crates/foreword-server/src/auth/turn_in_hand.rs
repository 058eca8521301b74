//! A turn that nobody waits for takes a place among its token's turns all the same, and what it costs is the token's.

use std::time::Duration;

use foreword_agent::agent::Receipt;
use foreword_agent::feed::{Feed, Progress};
use foreword_core::id::{MessageId, TurnId};

use super::limits::Admitted;

/// How long a turn is waited for at most: another node may be answering, and does not tell here.
const PATIENCE: Duration = Duration::from_secs(900);

/// Keeps the place until the message was answered, and notes what that has cost.
pub(crate) fn keep(admitted: Admitted, receipt: &Receipt) {
    // What was taken in before has its place already.
    if receipt.before {
        return;
    }
    let (message, feed, from) = (receipt.message.message.id.clone(), receipt.feed.clone(), receipt.from);
    tokio::spawn(async move {
        let ended = answered(&admitted, &message, &feed, from);
        // Dropping the place is all there is to do when it takes too long.
        let _ = tokio::time::timeout(PATIENCE, ended).await;
    });
}

async fn answered(admitted: &Admitted, message: &MessageId, feed: &Feed, mut from: u64) {
    let mut ours: Option<TurnId> = None;
    loop {
        let batch = feed.read(from).await;
        from = batch.next;
        for progress in &batch.items {
            match &**progress {
                Progress::TurnStarted { turn, messages, .. } if messages.contains(message) => {
                    ours = Some(turn.clone());
                }
                Progress::TurnEnded { turn, cost, .. } if ours.as_ref() == Some(turn) => {
                    return cost.known().into_iter().for_each(|cost| admitted.spent(cost));
                }
                Progress::TurnLeft { turn, .. } if ours.as_ref() == Some(turn) => return,
                _ => {}
            }
        }
        // What was missed may have been its end.
        if batch.missed > 0 && ours.is_some() {
            return;
        }
    }
}
