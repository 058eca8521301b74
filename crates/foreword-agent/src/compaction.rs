//! Making a history shorter: the model summarises it on the prompt it already has in its cache, and summary and new epoch
//! take its place together. What fails changes nothing, and no message is ever lost.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::event::{Event, EventType};
use foreword_core::history::History;
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::message::{ContentBlock, Usage};
use foreword_core::model::{ErrorKind, ModelError, ModelEvent, RequestMessage, RequestRole};
use foreword_core::money::Price;
use foreword_core::retry::RetryDecision;
use foreword_core::transcript::transcript;
use foreword_core::turn_journal::Outcome;
use foreword_prompt::blueprint::builtin;
use foreword_prompt::epoch::Circumstances;
use foreword_prompt::untrusted::single_line;
use foreword_prompt::untrusted::spoken;
use foreword_store::compaction::{Compaction, Summary};
use foreword_store::turns::{Begin, FinishTurn, Hold, Take};
use serde_json::json;
use tokio::time::Instant;

use crate::calling::{self, Call, cost};
use crate::conversation::begin_turn;
use crate::error::AgentError;
use crate::inbound::Occasion;
use crate::prepare::{Placed, Prepared, prepare, proposed, rebuilt};
use crate::shared::Shared;

/// What the model is asked for, behind the history; how to do it stands in the built-in text.
const ASKED: &str = "Summarise the conversation up to here.";
/// The built-in text.
const INSTRUCTIONS: &str = "compaction";

/// The longest text from outside in an event.
const SHOWN: usize = 500;

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

/// Shortens a conversation in which no turn runs.
pub(crate) async fn on_request(
    shared: &Arc<Shared>,
    conversation: &ConversationId,
    occasion: &Occasion,
) -> Result<Shortened, AgentError> {
    let placed = Placed::at(shared, conversation.clone(), occasion.clone());
    let begin = begin_turn(shared, &placed, Take::Nothing)?;
    let Begin::Begun(begun) = shared.store.begin_turn(begin).await? else {
        return Err(AgentError::Busy(conversation.clone()));
    };
    let turn = begun.hold.turn.clone();
    let shortened = match prepare(shared, &placed, Some(&turn), None).await {
        Ok(prepared) => holding(shared, &begun.hold, shorten(shared, &placed, &prepared, &turn)).await,
        Err(error) => Err(error),
    };
    end(shared, &begun.hold, shortened.as_ref().err()).await?;
    shortened
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

/// The turn that held the conversation meanwhile has nothing to say.
async fn end(shared: &Shared, hold: &Hold, error: Option<&AgentError>) -> Result<(), AgentError> {
    let outcome = if error.is_some() { Outcome::Failed } else { Outcome::Done };
    let finish =
        FinishTurn { outcome, reply: Vec::new(), error: error.map(ToString::to_string), at: shared.now() };
    shared.store.finish_turn(hold, finish).await?;
    Ok(())
}

/// Shortens the conversation a turn runs in, without what the turn itself is about.
pub(crate) async fn shorten(
    shared: &Shared,
    placed: &Placed,
    prepared: &Prepared,
    running: &TurnId,
) -> Result<Shortened, AgentError> {
    let trust = prepared.trust.effective();
    let history = shared.store.history(&placed.conversation).await?;
    let mut part = history.clone();
    for _ in 0..=HALVINGS {
        let nothing = || AgentError::NothingToCompact(placed.conversation.clone());
        let covered_to = part.cut(trust, Some(running)).ok_or_else(nothing)?;
        let covered = up_to(&history, covered_to);
        let removed = covered.messages.len();
        match summarise(shared, (placed, prepared), covered.at_trust(trust)).await {
            Ok((summary, usage)) => {
                let shortened =
                    Shortened { removed, summary, usage, cost: cost(prepared.facts(), Some(usage)) };
                swap(shared, placed, (&history, covered_to, running), &shortened).await?;
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

/// The summary and everything up to a place.
fn up_to(history: &History, place: u64) -> History {
    let kept = |message: &&foreword_core::message::Message| {
        message.seq <= place || message.message.kind == foreword_core::message::Kind::Summary
    };
    History { messages: history.messages.iter().filter(kept).cloned().collect(), ..history.clone() }
}

/// The model's summary of a history.
async fn summarise(
    shared: &Shared,
    (placed, prepared): (&Placed, &Prepared),
    history: History,
) -> Result<(String, Usage), ModelError> {
    let mut messages = transcript(&history.messages, None);
    let asked = format!("{ASKED}\n\n{}", builtin::text(INSTRUCTIONS).unwrap_or_default().trim_end());
    messages.push(RequestMessage { role: RequestRole::User, content: vec![ContentBlock::text(asked)] });
    let retry = &prepared.rules.retry;
    let mut attempt = 0;
    loop {
        let request = calling::request(prepared, messages.clone());
        let began = Instant::now();
        let error = match collect(shared, prepared, request).await {
            Ok((summary, usage)) => {
                log_call(shared, placed, prepared, (usage, began.elapsed()));
                return Ok((summary, usage));
            }
            Err(error) => error,
        };
        log_failure(shared, placed, &error, attempt);
        let RetryDecision::Again { delay, .. } = retry.decide(&error, attempt, shared.surroundings.chance())
        else {
            return Err(error);
        };
        attempt += 1;
        tokio::time::sleep(delay).await;
    }
}

async fn collect(
    shared: &Shared,
    prepared: &Prepared,
    request: foreword_core::model::ModelRequest,
) -> Result<(String, Usage), ModelError> {
    let mut call = Call::start(shared, prepared, request)?;
    let mut summary = String::new();
    loop {
        match call.next().await? {
            ModelEvent::Text(words) => summary.push_str(&words),
            ModelEvent::Stopped(_) if summary.trim().is_empty() => {
                return Err(call.broken("the model gave no summary"));
            }
            ModelEvent::Stopped(_) => return Ok((summary.trim().to_owned(), call.usage.unwrap_or_default())),
            ModelEvent::Block(_) | ModelEvent::Usage(_) => {}
        }
    }
}

/// Puts summary and new epoch in the place of the history.
async fn swap(
    shared: &Shared,
    placed: &Placed,
    (history, covered_to, turn): (&History, u64, &TurnId),
    shortened: &Shortened,
) -> Result<(), AgentError> {
    let built = rebuilt(shared, placed).await?;
    let mut epoch = proposed(shared, placed, &built, history);
    epoch.circumstances = Circumstances { compacting: true, ..epoch.circumstances };
    // Whatever a summary repeats, it is nobody's word but the agent's.
    let quoted = spoken(&built.occasion.agent, Some("summary"), &shortened.summary);
    let text = format!("Summary of the conversation before this point:\n\n{quoted}");
    let summary = Summary {
        id: shared.surroundings.id("m")?,
        content: vec![ContentBlock::text(text)],
        turn: Some(turn.clone()),
        usage: Some(shortened.usage),
    };
    shared.store.compact(Compaction { epoch, covered_to, summary, expected: history.compaction }).await?;
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

fn log_call(shared: &Shared, placed: &Placed, prepared: &Prepared, (usage, took): (Usage, Duration)) {
    let model = &prepared.model;
    shared.log(Event {
        session_id: Some(placed.conversation.clone()),
        duration_ms: u64::try_from(took.as_millis()).ok(),
        tokens_in: Some(usage.input + usage.cache_read + usage.cache_write),
        tokens_out: Some(usage.output),
        cache_read_tokens: Some(usage.cache_read),
        cache_write_tokens: Some(usage.cache_write),
        cost_usd: cost(prepared.facts(), Some(usage)).known().map(|cost| cost.dollars()),
        metadata: Some(json!({ "model": model.as_str(), "provider": model.provider(), "for": "summary" })),
        ..Event::new(EventType::ApiCall, shared.now())
    });
}

fn log_failure(shared: &Shared, placed: &Placed, error: &ModelError, attempt: u32) {
    let metadata = json!({
        "provider": error.provider, "statusCode": error.status, "kind": error.kind, "retryAttempt": attempt,
        "for": "summary",
    });
    shared.log(Event {
        session_id: Some(placed.conversation.clone()),
        error: Some(single_line(&error.to_string(), SHOWN)),
        metadata: Some(metadata),
        ..Event::new(EventType::ApiError, shared.now())
    });
}
