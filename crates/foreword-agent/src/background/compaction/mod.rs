//! Compaction: the model summarises the history, using the cached prompt, and the store replaces the history by the
//! summary and opens a new epoch in one transaction. A failure changes nothing, and no message is deleted.

mod compact_idle;
mod measure;
mod outside_turn;
mod scope;
mod skill_reminder;
mod summary;

use std::future::Future;

use foreword_core::event::{Event, EventType};
use foreword_core::history::History;
use foreword_core::message::{ContentBlock, Kind, Message, Usage};
use foreword_core::model::ErrorKind;
use foreword_core::money::Price;
use foreword_prompt::epoch::EpochTriggers;
use foreword_prompt::untrusted::quote_group_message;
use foreword_store::compaction::{Compaction, Summary};
use foreword_store::turns::TurnLease;
use serde_json::json;

use crate::error::AgentError;
use crate::shared::Shared;
use crate::spending::{PlannedCall, SpendingDecision};
use crate::turn::prepare::{Prepared, proposed, rebuilt};
use crate::turn::scope::TurnScope;

pub use compact_idle::CompactedConversation;
pub(crate) use outside_turn::{after_turn, on_request};
pub(crate) use scope::turn_scope;

/// How often a history that exceeds the context window is halved.
const MAX_HALVINGS: u32 = 5;

/// A finished compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionResult {
    /// How many messages the summary replaces.
    pub removed: usize,
    /// The text of the summary.
    pub summary: String,
    /// Tokens used.
    pub usage: Usage,
    /// Cost of the call.
    pub cost: Price,
}

/// Runs `work` and renews the turn's lease meanwhile, since a summary can take longer than the lease.
pub(crate) async fn with_lease<T>(
    shared: &Shared,
    hold: &TurnLease,
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

/// Compacts the conversation of `hold`, except the messages of its current turn.
pub(crate) async fn compact(
    shared: &Shared,
    scope: &TurnScope,
    prepared: &Prepared,
    hold: &TurnLease,
) -> Result<CompactionResult, AgentError> {
    let trust = prepared.trust.effective();
    // Find out whether the prompt can be built before paying for the summary.
    rebuilt(shared, scope).await?;
    let history = shared.store.history(&scope.conversation).await?;
    let mut part = history.clone();
    for _ in 0..=MAX_HALVINGS {
        let nothing = || AgentError::NothingToCompact(scope.conversation.clone());
        let covered_to = part.cut(trust, Some(&hold.turn)).ok_or_else(nothing)?;
        let covered = up_to(&history, covered_to);
        let removed = covered.messages.len();
        let covered = covered.at_trust(trust);
        check_budget(shared, scope, prepared).await?;
        match summary::summarise(shared, scope, prepared, &covered).await {
            Ok(summary::WrittenSummary { text, usage, cost }) => {
                let shortened = CompactionResult { removed, summary: text, usage, cost };
                swap(shared, scope, &history, &covered, covered_to, hold, &shortened).await?;
                log(shared, scope, &shortened);
                return Ok(shortened);
            }
            // Too long for the context window: summarise the older half.
            Err(error) if error.kind == ErrorKind::ContextTooLong => {
                let middle = part.messages.get(removed / 2).map_or(0, |message| message.seq);
                part = up_to(&history, middle);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(AgentError::NoSummary("even a small part of the conversation is too long for the model".to_owned()))
}

/// Fails if a budget is exceeded.
async fn check_budget(shared: &Shared, scope: &TurnScope, prepared: &Prepared) -> Result<(), AgentError> {
    let call = PlannedCall { payer: prepared.payer(scope), at_least: Price::Unknown, is_urgent: false };
    let log = |event| shared.log(Event { session_id: Some(scope.conversation.clone()), ..event });
    match shared.spending.decide(call, log).await? {
        SpendingDecision::Allowed(_) => Ok(()),
        SpendingDecision::Refused(notice) => Err(AgentError::NoSummary(notice.to_others())),
    }
}

/// The existing summary and all messages up to `place`.
fn up_to(history: &History, place: u64) -> History {
    let kept = |message: &&Message| message.seq <= place || message.message.kind == Kind::Summary;
    History { messages: history.messages.iter().filter(kept).cloned().collect(), ..history.clone() }
}

/// Stores the summary and the new epoch.
async fn swap(
    shared: &Shared,
    scope: &TurnScope,
    history: &History,
    covered: &History,
    covered_to: u64,
    hold: &TurnLease,
    shortened: &CompactionResult,
) -> Result<(), AgentError> {
    let built = rebuilt(shared, scope).await?;
    let mut epoch = proposed(shared, scope, &built, history);
    epoch.triggers = EpochTriggers { compacting: true, ..epoch.triggers };
    // A summary may repeat text of others, so it is quoted as the agent's text.
    let quoted = quote_group_message(&built.occasion.agent, Some("summary"), &shortened.summary);
    let text = format!("Summary of the conversation before this point:\n\n{quoted}");
    let mut content = vec![ContentBlock::text(text)];
    if let Some(again) = skill_reminder::loaded_skills(shared, scope, &built, covered).await {
        content.extend([ContentBlock::text(again.text), again.note]);
    }
    let summary = Summary {
        id: shared.clock_and_rng.id("m")?,
        content,
        turn: Some(hold.turn.clone()),
        usage: Some(shortened.usage),
    };
    let (expected, hold) = (history.compaction, Some(hold.clone()));
    shared.store.compact(Compaction { epoch, covered_to, summary, expected, hold }).await?;
    Ok(())
}

fn log(shared: &Shared, scope: &TurnScope, shortened: &CompactionResult) {
    let metadata = json!({ "removedMessages": shortened.removed, "summaryTokens": shortened.usage.output });
    shared.log(Event {
        session_id: Some(scope.conversation.clone()),
        metadata: Some(metadata),
        ..Event::new(EventType::SessionCompacted, shared.now())
    });
}
