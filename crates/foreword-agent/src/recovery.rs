//! Turns that were cut off: claimed, and gone on with or reported.

use std::sync::Arc;

use foreword_core::id::TurnId;
use foreword_core::message::{ContentBlock, Kind, NewMessage, Provenance, Role};
use foreword_core::turn_journal::{AfterCrash, WhyReported};
use foreword_prompt::occasion::Channel;
use foreword_store::conversations::Conversation;
use foreword_store::turns::{TakeOver, TakenOver};

use crate::conversation::Mailbox;
use crate::driver::Driver;
use crate::error::AgentError;
use crate::feed::{Feed, Progress};
use crate::inbound::{Occasion, Watched};
use crate::saved::Saved;
use crate::shared::{ATTEMPTS, Shared};

/// Claims a turn that was cut off. `None` if somebody else has it, or it has ended.
pub(crate) async fn claim(shared: &Shared, turn: TurnId) -> Result<Option<TakenOver>, AgentError> {
    let (node, now) = (shared.node.clone(), shared.now());
    Ok(shared
        .store
        .take_over(TakeOver { turn, node, lease: shared.lease, attempts_limit: ATTEMPTS, now })
        .await?)
}

/// Goes on with a claimed turn, or tells the conversation that it can't.
pub(crate) async fn go_on(
    shared: &Arc<Shared>,
    taken: TakenOver,
    mailbox: &mut Mailbox,
    feed: &Feed,
) -> Result<(), AgentError> {
    match &taken.after_crash {
        AfterCrash::Report(why) => report(shared, &taken, why, feed).await,
        AfterCrash::Resume => {
            let driver = match &taken.saved {
                Some(saved) => {
                    let saved: Saved = serde_json::from_value(saved.clone()).map_err(|error| {
                        AgentError::Unreadable { turn: taken.turn.id.to_string(), reason: error.to_string() }
                    })?;
                    Driver::resume(shared, taken, saved, feed).await?
                }
                // It had hardly begun: nothing of it is lost if it begins again.
                None => Driver::begin_again(shared, taken, feed).await?,
            };
            if let Some(driver) = driver {
                driver.run(mailbox).await;
            }
            Ok(())
        }
    }
}

async fn report(
    shared: &Shared,
    taken: &TakenOver,
    why: &WhyReported,
    feed: &Feed,
) -> Result<(), AgentError> {
    let text = format!("A turn was interrupted and is not run again: {why}.");
    let notice = NewMessage {
        id: shared.surroundings.id("m")?,
        conversation: taken.turn.conversation.clone(),
        role: Role::System,
        kind: Kind::Notice,
        content: vec![ContentBlock::text(text.clone())],
        trust: taken.turn.trust,
        provenance: Provenance::Agent,
        author: None,
        turn: Some(taken.turn.id.clone()),
        usage: None,
        at: shared.now(),
    };
    shared.store.report_interrupted(&taken.hold, why, notice).await?;
    feed.tell(Progress::Status(text));
    Ok(())
}

/// The occasion of a message that another process has heard: what the conversation itself says, and nobody looks on.
pub(crate) fn occasion_of(conversation: Option<&Conversation>, author: Option<&str>) -> Occasion {
    Occasion {
        user: author.map(Into::into),
        channel: conversation.and_then(|found| found.channel.as_deref()).map(Channel::new),
        situation: conversation.map(|found| found.situation.as_str().into()),
        watched: Watched::ByNobody,
        ..Occasion::default()
    }
}
