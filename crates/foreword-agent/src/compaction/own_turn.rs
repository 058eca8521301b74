//! A conversation that is made shorter while nobody is answered in it: a turn of its own holds it meanwhile, so that no
//! other begins, here or on another node. What arrives waits in order.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::compaction::{Measured, Moment};
use foreword_core::event::{Event, EventType};
use foreword_core::turn_journal::Outcome;
use foreword_prompt::untrusted::display_line;
use foreword_store::turns::{Begin, FinishTurn, Hold, Take};

use super::{Shortened, holding, measure, shorten};
use crate::conversation::{Mailbox, begin_turn};
use crate::error::AgentError;
use crate::feed::{Feed, Progress};
use crate::prepare::{Placed, prepare};
use crate::settling;
use crate::shared::Shared;
use crate::turn_log::TurnLog;

/// The longest reason that is shown.
const SHOWN: usize = 500;

/// How long an agent that is being shut down waits for a summary nobody has asked for. Whoever starts a process for each
/// message would begin and pay for one every time, and never get it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Shortens a conversation in which no turn runs, unless it is called off meanwhile.
pub(crate) async fn on_request(
    shared: &Arc<Shared>,
    placed: &Placed,
    mailbox: &mut Mailbox,
) -> Result<Shortened, AgentError> {
    unless_called_off(shared, placed, (mailbox, Duration::ZERO)).await
}

async fn unless_called_off(
    shared: &Arc<Shared>,
    placed: &Placed,
    (mailbox, patience): (&mut Mailbox, Duration),
) -> Result<Shortened, AgentError> {
    let begin = begin_turn(shared, placed, Take::Nothing)?;
    let Begin::Begun(begun) = shared.store.begin_turn(begin).await? else {
        return Err(AgentError::Busy(placed.conversation.clone()));
    };
    let hold = begun.hold;
    let work = async {
        settling::settled(shared).await;
        let prepared = prepare(shared, placed, Some(&hold.turn), None).await?;
        let names = (hold.turn.clone(), placed.conversation.clone());
        let random = shared.surroundings.random();
        let log = TurnLog::new(shared.recorder.clone(), names, &prepared, Vec::new(), random);
        shared.recorder.in_turn(log.names(), shorten(shared, placed, &prepared, &hold)).await
    };
    let shortened = tokio::select! {
        biased;
        () = called_off(mailbox, patience) => Err(AgentError::CalledOff(placed.conversation.clone())),
        shortened = holding(shared, &hold, Box::pin(work)) => shortened,
    };
    end(shared, &hold, shortened.as_ref().err()).await?;
    shortened
}

/// Waits until somebody says stop, or the agent has been shut down for so long.
async fn called_off(mailbox: &mut Mailbox, patience: Duration) {
    // What was said before is not said again.
    if !mailbox.is_to_stop() {
        mailbox.called_off().await;
    }
    if mailbox.is_to_stop() {
        // A stop that comes now is one too.
        let _ = tokio::time::timeout(patience, mailbox.called_off()).await;
    }
}

/// The turn that held the conversation meanwhile has nothing to say.
async fn end(shared: &Shared, hold: &Hold, error: Option<&AgentError>) -> Result<(), AgentError> {
    let outcome = match error {
        None => Outcome::Done,
        Some(AgentError::CalledOff(_)) => Outcome::Cancelled,
        Some(_) => Outcome::Failed,
    };
    let finish =
        FinishTurn { outcome, reply: Vec::new(), error: error.map(ToString::to_string), at: shared.now() };
    shared.store.finish_turn(hold, finish).await?;
    Ok(())
}

/// Shortens the conversation in which a turn has ended, if it takes up more of the model's window than it may. What fails
/// changes nothing, and is not tried again before another turn has ended.
pub(crate) async fn after_turn(shared: &Arc<Shared>, placed: &Placed, mailbox: &mut Mailbox, feed: &Feed) {
    // Whoever was told to stop in the middle of the turn begins nothing new.
    if mailbox.is_to_stop() {
        return;
    }
    // A store that can't be read now is asked again after the next turn.
    let Ok(Some(measured)) = measure::due(shared, placed, Moment::TurnEnded).await else { return };
    feed.tell(Progress::Status(format!(
        "The conversation takes up {} % of what the model can read. Summarising...",
        percent(&measured)
    )));
    match unless_called_off(shared, placed, (mailbox, PATIENCE)).await {
        Ok(_) => feed.tell(Progress::Compacted),
        // Somebody was faster with another message, or said stop. What is too long now is so after the next turn too.
        Err(AgentError::Busy(_) | AgentError::CalledOff(_)) => {}
        Err(error) => {
            feed.tell(Progress::Status(format!("Not summarised, the conversation stays as it is: {error}")));
            log_failure(shared, placed, &error);
        }
    }
}

fn percent(measured: &Measured) -> usize {
    let window = measured.window.unwrap_or(measured.weight).max(1);
    measured.weight.saturating_mul(100) / window
}

/// Puts on record that a conversation was too long and stays so.
pub(super) fn log_failure(shared: &Shared, placed: &Placed, error: &AgentError) {
    shared.log(Event {
        session_id: Some(placed.conversation.clone()),
        error: Some(display_line(&error.to_string(), SHOWN)),
        ..Event::new(EventType::CompactionFailed, shared.now())
    });
}
