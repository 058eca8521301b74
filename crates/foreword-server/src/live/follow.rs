//! Hears from the database what other nodes have put on record, and asks for; lets go of what is old.

use std::sync::atomic::Ordering;
use std::time::Duration;

use foreword_core::id::ConversationId;
use foreword_store::changes::Change;
use foreword_store::error::StoreError;
use tokio::sync::broadcast::error::RecvError;

use super::mend;
use crate::app::App;

/// How long items are kept. Whoever was away for longer reads the conversation instead.
const KEPT: Duration = Duration::from_secs(60 * 60);
/// How often those that are older are looked for.
const LOOK_FOR_OLD: Duration = Duration::from_secs(5 * 60);
/// How many of them go at once, and how long others may use the database in between.
const SLICE: u32 = 1_000;
const BETWEEN_SLICES: Duration = Duration::from_millis(100);
/// How often, and how long, is waited for what is being written here.
const PATIENCE: usize = 20;
const MOMENT: Duration = Duration::from_millis(10);
/// How soon tokens are looked at again when one may have changed.
const RECHECK_AFTER: Duration = Duration::from_millis(500);

/// Hears what changes until the store is closed.
pub(crate) async fn follow(app: App) {
    let mut changes = app.store.changes();
    loop {
        match changes.recv().await {
            Ok(Change::Stream { conversation, last }) => catch_up(&app, &conversation, last),
            Ok(Change::Cancel(conversation)) => app.agent.cancel_here(&conversation),
            Ok(Change::Answer { conversation, call, answer }) => {
                app.agent.answer_here(&conversation, (call, answer));
            }
            Ok(Change::Tokens) => recheck(&app),
            Ok(Change::Anything) | Err(RecvError::Lagged(_)) => {
                recheck(&app);
                look_everywhere(&app);
            }
            Ok(_) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Has everybody who looks on show their token again, in a moment: one that was revoked opens nothing any more.
fn recheck(app: &App) {
    if app.live.rechecking.swap(true, Ordering::Relaxed) {
        return;
    }
    let app = app.clone();
    tokio::spawn(async move {
        tokio::time::sleep(RECHECK_AFTER).await;
        app.live.rechecking.store(false, Ordering::Relaxed);
        app.live.recheck.send_modify(|count| *count += 1);
    });
}

/// Reads what another node has written, if somebody looks on here.
fn catch_up(app: &App, conversation: &ConversationId, last: u64) {
    let Some(channel) = app.live.hub.existing(conversation) else { return };
    if channel.last() >= last {
        return;
    }
    let (store, log) = (app.store.clone(), app.live.log.clone());
    tokio::spawn(async move {
        // What is written here is shown in a moment, without reading it.
        for _ in 0..PATIENCE {
            if channel.last() >= last || !log.is_writing(&channel.conversation) {
                break;
            }
            tokio::time::sleep(MOMENT).await;
        }
        // What can't be read now is read with what comes next, or by each reader.
        if channel.fetch(&store, last).await.is_err() {
            channel.reached(last);
        }
    });
}

/// Something may have been missed: every conversation that somebody looks on at is asked how far it has come.
fn look_everywhere(app: &App) {
    let (channels, store) = (app.live.hub.all(), app.store.clone());
    tokio::spawn(async move {
        for channel in channels {
            if let Ok(page) = store.stream(&channel.conversation, channel.last(), 0).await {
                // As above.
                let _ = channel.fetch(&store, page.last).await;
            }
        }
    });
}

/// Looks now and then whether a turn that somebody waits for the end of has ended, and nobody could say so.
pub(crate) async fn mend_ends(app: App) {
    loop {
        tokio::time::sleep(mend::AFTER).await;
        let open = app.live.hub.all().into_iter().filter(|channel| channel.is_amid_a_turn());
        for channel in open.collect::<Vec<_>>() {
            // A database that is away is asked again.
            let _ = mend::mend(&app, &channel.conversation).await;
        }
    }
}

/// Lets go of what is old, now and then and in slices.
pub(crate) async fn let_go_of_old(app: App) {
    loop {
        while matches!(prune(&app).await, Ok(count) if count >= u64::from(SLICE)) {
            tokio::time::sleep(BETWEEN_SLICES).await;
        }
        tokio::time::sleep(LOOK_FOR_OLD).await;
    }
}

async fn prune(app: &App) -> Result<u64, StoreError> {
    app.store.prune_streams(app.now().minus(KEPT), SLICE).await
}
