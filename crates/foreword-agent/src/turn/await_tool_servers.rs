//! Waits for tool servers that start for the first time, before a turn reads the list of tools. Renews the lease of the
//! turn meanwhile and reacts to cancellation.

use std::time::Duration;

use foreword_store::turns::TurnLease;

use crate::background::compaction::with_lease;
use crate::conversation::mailbox::Mailbox;
use crate::error::AgentError;
use crate::shared::Shared;

/// The maximum wait of a turn. Tools of slower servers are available to later turns.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits until all servers have started, or until the timeout.
pub(crate) async fn settled(shared: &Shared) {
    if let Some(outside) = &shared.outside {
        // On timeout, continue without the missing tools.
        let _ = tokio::time::timeout(STARTUP_TIMEOUT, outside.settled()).await;
    }
}

/// As [`settled`], for the turn of `hold`. Returns early on cancellation, which the turn then handles.
pub(crate) async fn wait(shared: &Shared, hold: &TurnLease, mailbox: &mut Mailbox) -> Result<(), AgentError> {
    let waiting = async {
        settled(shared).await;
        Ok(())
    };
    tokio::select! {
        biased;
        settled = with_lease(shared, hold, waiting) => settled,
        () = mailbox.stop_requested() => Ok(()),
    }
}
