//! Makes the prompt of the next turn ready when a turn has ended. Now and then the history has grown so much that the prompt
//! is made anew, which takes longer than all the rest of a beginning; here nobody waits for it.

use std::sync::Arc;

use foreword_core::message::Usage;

use crate::prepare::{Placed, request, weight_after};
use crate::shared::Shared;

/// Makes a prompt ready for the turn that follows at `placed` behind an answer that took `usage`. If it is not used, or
/// can't be made, nothing is lost: whoever needs it is told.
pub(crate) fn expect_next(shared: &Arc<Shared>, placed: &Placed, usage: Usage) {
    let (shared, placed) = (Arc::clone(shared), placed.clone());
    tokio::spawn(async move {
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let Ok(mut request) = request(&shared, &placed, &config).await else { return };
        request.history_tokens = weight_after(usage);
        request.calibration = shared.calibrations.factor(&config, &request.identify(&config).occasion.model);
        // On a thread of its own, for it may take as long as a whole turn.
        tokio::task::spawn_blocking(move || shared.workspace.build(&request).map(drop));
    });
}
