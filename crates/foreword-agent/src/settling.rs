//! Waits for tools from elsewhere that are being started for the first time, before a turn asks what there is. The turn has
//! begun already: its lease is kept meanwhile, and whoever says stop is not kept waiting.

use std::time::Duration;

use foreword_store::turns::Hold;

use crate::compaction::holding;
use crate::conversation::Mailbox;
use crate::error::AgentError;
use crate::shared::Shared;

/// How long a turn waits at most, whatever a server may take to start: what comes later is there for a later turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits until everything is there that is being started, or long enough.
pub(crate) async fn settled(shared: &Shared) {
    if let Some(outside) = &shared.outside {
        // What is not there by then is done without.
        let _ = tokio::time::timeout(PATIENCE, outside.settled()).await;
    }
}

/// The same for the turn that `hold` is of. If it is to be stopped, it hears of that itself, and at once.
pub(crate) async fn wait(shared: &Shared, hold: &Hold, mailbox: &mut Mailbox) -> Result<(), AgentError> {
    let waiting = async {
        settled(shared).await;
        Ok(())
    };
    tokio::select! {
        biased;
        settled = holding(shared, hold, waiting) => settled,
        () = mailbox.hurried() => Ok(()),
    }
}
