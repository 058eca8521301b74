//! Making a history shorter: the model summarises it on the prompt it already has in its cache, and summary and new epoch
//! take its place together. What fails changes nothing, and no message is ever lost.

mod again;
mod measure;
mod night;
mod own_turn;
mod placing;
mod summary;

use std::future::Future;

use foreword_core::allowance::{Payer, Verdict};
use foreword_core::event::{Event, EventType};
use foreword_core::history::History;
use foreword_core::message::{ContentBlock, Kind, Message, Usage};
use foreword_core::model::ErrorKind;
use foreword_core::money::Price;
use foreword_prompt::epoch::Circumstances;
use foreword_prompt::untrusted::spoken;
use foreword_store::compaction::{Compaction, Summary};
use foreword_store::turns::Hold;
use serde_json::json;

use crate::error::AgentError;
use crate::prepare::{Placed, Prepared, proposed, rebuilt};
use crate::purse::{self, Purse};
use crate::shared::Shared;

pub use night::Compacted;
pub(crate) use own_turn::{after_turn, on_request};
pub(crate) use placing::placed;

/// How often a history that is too long even to be summarised is halved.
const HALVINGS: u32 = 5;

/// A history that is shorter now.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortened {
    /// How many messages the summary stands for.
    pub removed: usize,
    /// What the summary says.
    pub summary: String,
    /// What it took.
    pub usage: Usage,
    /// What that cost.
    pub cost: Price,
}

/// Does the work and keeps the turn's lease meanwhile: a summary can take longer than that.
pub(crate) async fn holding<T>(
    shared: &Shared,
    hold: &Hold,
    work: impl Future<Output = Result<T, AgentError>>,
) -> Result<T, AgentError> {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            () = tokio::time::sleep(shared.lease / 3) => shared.store.renew_lease(hold, shared.now()).await?,
        }
    }
}

/// Shortens the conversation that `hold` is of, without what its turn itself is about.
pub(crate) async fn shorten(
    shared: &Shared,
    placed: &Placed,
    prepared: &Prepared,
    hold: &Hold,
) -> Result<Shortened, AgentError> {
    let trust = prepared.trust.effective();
    // A prompt that can't be frozen is found before the summary is paid for.
    rebuilt(shared, placed).await?;
    let history = shared.store.history(&placed.conversation).await?;
    let mut part = history.clone();
    for _ in 0..=HALVINGS {
        let nothing = || AgentError::NothingToCompact(placed.conversation.clone());
        let covered_to = part.cut(trust, Some(&hold.turn)).ok_or_else(nothing)?;
        let covered = up_to(&history, covered_to);
        let removed = covered.messages.len();
        let covered = covered.at_trust(trust);
        within_budget(shared, placed, prepared).await?;
        match summary::summarise(shared, (placed, prepared), &covered).await {
            Ok(summary::WrittenSummary { text, usage, cost }) => {
                let shortened = Shortened { removed, summary: text, usage, cost };
                swap(shared, placed, (&history, &covered, covered_to, hold), &shortened).await?;
                log(shared, placed, &shortened);
                return Ok(shortened);
            }
            // Not even that fits: the older half first.
            Err(error) if error.kind == ErrorKind::ContextTooLong => {
                let middle = part.messages.get(removed / 2).map_or(0, |message| message.seq);
                part = up_to(&history, middle);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(AgentError::NoSummary("even a small part of the conversation is too long for the model".to_owned()))
}

/// Refuses a summary that may not be paid for.
async fn within_budget(shared: &Shared, placed: &Placed, prepared: &Prepared) -> Result<(), AgentError> {
    if shared.workspace.snapshot().config.budgets.is_empty() {
        return Ok(());
    }
    let occasion = &prepared.built.occasion;
    let session = placed.conversation.as_str();
    let payer = Payer { user: occasion.user.as_deref(), session, agent: &occasion.agent };
    for verdict in Purse::judge(shared, &payer, Price::Unknown).await? {
        if let Verdict::Stop(notice) = verdict {
            let event = purse::event(EventType::BudgetExceeded, &notice, shared.now());
            shared.log(Event { session_id: Some(placed.conversation.clone()), ..event });
            return Err(AgentError::NoSummary(notice.to_others()));
        }
    }
    Ok(())
}

/// The summary and everything up to a place.
fn up_to(history: &History, place: u64) -> History {
    let kept = |message: &&Message| message.seq <= place || message.message.kind == Kind::Summary;
    History { messages: history.messages.iter().filter(kept).cloned().collect(), ..history.clone() }
}

/// Puts summary and new epoch in the place of the history.
async fn swap(
    shared: &Shared,
    placed: &Placed,
    (history, covered, covered_to, hold): (&History, &History, u64, &Hold),
    shortened: &Shortened,
) -> Result<(), AgentError> {
    let built = rebuilt(shared, placed).await?;
    let mut epoch = proposed(shared, placed, &built, history);
    epoch.circumstances = Circumstances { compacting: true, ..epoch.circumstances };
    // Whatever a summary repeats, it is nobody's word but the agent's.
    let quoted = spoken(&built.occasion.agent, Some("summary"), &shortened.summary);
    let text = format!("Summary of the conversation before this point:\n\n{quoted}");
    let mut content = vec![ContentBlock::text(text)];
    if let Some(again) = again::skills(shared, placed, &built, covered).await {
        content.extend([ContentBlock::text(again.text), again.note]);
    }
    let summary = Summary {
        id: shared.surroundings.id("m")?,
        content,
        turn: Some(hold.turn.clone()),
        usage: Some(shortened.usage),
    };
    let (expected, hold) = (history.compaction, Some(hold.clone()));
    shared.store.compact(Compaction { epoch, covered_to, summary, expected, hold }).await?;
    Ok(())
}

fn log(shared: &Shared, placed: &Placed, shortened: &Shortened) {
    let metadata = json!({ "removedMessages": shortened.removed, "summaryTokens": shortened.usage.output });
    shared.log(Event {
        session_id: Some(placed.conversation.clone()),
        metadata: Some(metadata),
        ..Event::new(EventType::SessionCompacted, shared.now())
    });
}
