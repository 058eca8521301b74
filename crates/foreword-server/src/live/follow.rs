//! Follows changes of the shared store by other nodes, and prunes old events.

use std::sync::atomic::Ordering;
use std::time::Duration;

use foreword_core::id::ConversationId;
use foreword_store::changes::StoreChange;
use foreword_store::error::StoreError;
use tokio::sync::broadcast::error::RecvError;

use super::repair_turn_end;
use crate::app::App;

/// How long events are stored. A client that reconnects later reads the messages instead.
const RETENTION: Duration = Duration::from_secs(60 * 60);
const PRUNE_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// The number of events pruned at once, and the pause in between.
const PRUNE_BATCH: u32 = 1_000;
const PRUNE_PAUSE: Duration = Duration::from_millis(100);
/// The number of times, and how long, to wait for a local write.
const MAX_WRITE_WAITS: usize = 20;
const WRITE_WAIT: Duration = Duration::from_millis(10);
/// The delay before tokens are checked again after a change.
const RECHECK_DELAY: Duration = Duration::from_millis(500);

/// Follows changes until the store is closed.
pub(crate) async fn follow(app: App) {
    let mut changes = app.store.changes();
    loop {
        match changes.recv().await {
            Ok(StoreChange::Stream { conversation, last }) => catch_up(&app, &conversation, last),
            Ok(StoreChange::Cancel(conversation)) => app.agent.cancel_here(&conversation),
            Ok(StoreChange::Answer { conversation, call, answer }) => {
                app.agent.answer_here(&conversation, call, answer);
            }
            Ok(StoreChange::Tokens) => recheck(&app),
            Ok(StoreChange::Anything) | Err(RecvError::Lagged(_)) => {
                recheck(&app);
                catch_up_everywhere(&app);
            }
            Ok(_) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Makes all streams check their tokens again, after a short delay.
fn recheck(app: &App) {
    if app.live.rechecking.swap(true, Ordering::Relaxed) {
        return;
    }
    let app = app.clone();
    tokio::spawn(async move {
        tokio::time::sleep(RECHECK_DELAY).await;
        app.live.rechecking.store(false, Ordering::Relaxed);
        app.live.recheck.send_modify(|count| *count += 1);
    });
}

/// Reads the events written by another node, if there are subscribers here.
fn catch_up(app: &App, conversation: &ConversationId, last: u64) {
    let Some(channel) = app.live.hub.existing(conversation) else { return };
    if channel.last() >= last {
        return;
    }
    let (store, log) = (app.store.clone(), app.live.log.clone());
    tokio::spawn(async move {
        // Local events are published without reading them from the store.
        for _ in 0..MAX_WRITE_WAITS {
            if channel.last() >= last || !log.is_writing(&channel.conversation) {
                break;
            }
            tokio::time::sleep(WRITE_WAIT).await;
        }
        // If the store fails, each subscriber reads the events itself.
        if channel.fetch(&store, last).await.is_err() {
            channel.advance_to(last);
        }
    });
}

/// Changes may have been missed: reads the latest events of all conversations with subscribers.
fn catch_up_everywhere(app: &App) {
    let (channels, store) = (app.live.hub.all(), app.store.clone());
    tokio::spawn(async move {
        for channel in channels {
            if let Ok(page) = store.stream(&channel.conversation, channel.last(), 0).await {
                // See above.
                let _ = channel.fetch(&store, page.last).await;
            }
        }
    });
}

/// Checks periodically for turns that have ended without a `turn_end` event.
pub(crate) async fn repair_turn_ends(app: App) {
    loop {
        tokio::time::sleep(repair_turn_end::GRACE_PERIOD).await;
        let open = app.live.hub.all().into_iter().filter(|channel| channel.is_mid_turn());
        for channel in open.collect::<Vec<_>>() {
            // The store is asked again later.
            let _ = repair_turn_end::repair(&app, &channel.conversation).await;
        }
    }
}

/// Prunes old events periodically, in batches.
pub(crate) async fn prune_streams_periodically(app: App) {
    loop {
        while matches!(prune(&app).await, Ok(count) if count >= u64::from(PRUNE_BATCH)) {
            tokio::time::sleep(PRUNE_PAUSE).await;
        }
        tokio::time::sleep(PRUNE_INTERVAL).await;
    }
}

async fn prune(app: &App) -> Result<u64, StoreError> {
    app.store.prune_streams(app.now().minus(RETENTION), PRUNE_BATCH).await
}
