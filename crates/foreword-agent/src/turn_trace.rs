//! Everything that is on record of one turn, for whoever may see it: its journal, its events, and what they came to. A
//! turn of another conversation, or of a higher trust, looks exactly like one that is not there.

use std::collections::BTreeSet;

use foreword_core::event::{Event, EventType, StoredEvent, TraceId};
use foreword_core::id::{MessageId, TurnId};
use foreword_core::message::Usage;
use foreword_core::money::{Money, Price};
use foreword_core::span_tree::SpanTree;
use foreword_core::turn_journal::Step;
use foreword_store::error::StoreError;
use foreword_store::events::{EventFilter, EventKey, EventPage};
use foreword_store::store::Store;
use foreword_store::turns::{RecordedStep, Turn};

use crate::request_trace::RequestTrace;
use crate::viewer::Viewer;

/// How many events of a turn are looked at.
const MOST_EVENTS: usize = 500;
/// How many traces a turn may be part of: one for each time it was begun.
const MOST_TRACES: usize = 8;

/// The word for the newest turn.
pub const LAST: &str = "last";
/// How many turns that begin alike are looked at.
const ALIKE: u32 = 20;
/// And how many of them are named.
const SHOWN_ALIKE: usize = 3;

/// What is on record of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnTrace {
    /// The turn.
    pub turn: Turn,
    /// Its journal.
    pub steps: Vec<RecordedStep>,
    /// What happened in it, and around it in the same trace, by time.
    pub events: Vec<StoredEvent>,
}

/// What a turn came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Answered calls to models.
    pub calls: usize,
    /// Failed ones.
    pub failed: usize,
    /// Tokens.
    pub usage: Usage,
    /// The cost; one call whose price is not known makes it unknown.
    pub cost: Price,
}

/// The turn or the proxied request that a word means.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnFound {
    /// This one.
    One(Box<TurnTrace>),
    /// This proxied request.
    Request(Box<RequestTrace>),
    /// None that may be seen.
    None,
    /// Several begin alike.
    Several {
        /// The first of them.
        ids: Vec<TurnId>,
        /// How many there are, or may be seen to be.
        count: usize,
        /// Whether there may be more.
        or_more: bool,
    },
}

impl TurnTrace {
    /// What `word` means to `viewer`: [`LAST`], what [`TurnTrace::with_id`] finds, or the beginning of a turn's id.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn named(viewer: &Viewer, word: &str) -> Result<TurnFound, StoreError> {
        let found =
            |trace: Option<Self>| trace.map_or(TurnFound::None, |trace| TurnFound::One(Box::new(trace)));
        if word == LAST {
            let started = EventFilter { event_type: Some(EventType::TurnStarted), ..EventFilter::default() };
            let newest = viewer.newest(started, 1).await?;
            return match newest.into_iter().next().and_then(|event| event.turn_id) {
                Some(id) => Ok(found(Self::seen_by(viewer, &id).await?)),
                None => Ok(TurnFound::None),
            };
        }
        match Self::with_id(viewer, word).await? {
            TurnFound::None => {}
            exact => return Ok(exact),
        }
        let mut seen = Vec::new();
        for id in viewer.store.turns_beginning_with(word, ALIKE).await? {
            // What may not be seen is not counted either.
            seen.extend(Self::seen_by(viewer, &id).await?);
        }
        if seen.len() <= 1 {
            return Ok(found(seen.pop()));
        }
        let ids = seen.iter().take(SHOWN_ALIKE).map(|trace| trace.turn.id.clone()).collect();
        Ok(TurnFound::Several { ids, count: seen.len(), or_more: seen.len() >= ALIKE as usize })
    }

    /// What has exactly the id `word`: a turn, the turn of a message, or a proxied request.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn with_id(viewer: &Viewer, word: &str) -> Result<TurnFound, StoreError> {
        let Ok(id) = TurnId::new(word) else { return Ok(TurnFound::None) };
        if let Some(trace) = Self::seen_by(viewer, &id).await? {
            return Ok(TurnFound::One(Box::new(trace)));
        }
        if let Some(turn) = turn_of_message(&viewer.store, word).await?
            && let Some(trace) = Self::seen_by(viewer, &turn.id).await?
        {
            return Ok(TurnFound::One(Box::new(trace)));
        }
        let request = RequestTrace::seen_by(viewer, word).await?;
        Ok(request.map_or(TurnFound::None, |request| TurnFound::Request(Box::new(request))))
    }

    /// The turn `id`, as far as `viewer` may see it; `None` if there is none that they may.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn seen_by(viewer: &Viewer, id: &TurnId) -> Result<Option<Self>, StoreError> {
        let turn = match viewer.store.turn(id).await {
            Ok(turn) => turn,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let own = viewer.conversation.as_ref() == Some(&turn.conversation);
        if !(viewer.sees_everything() || own && viewer.trust.permits(turn.trust)) {
            return Ok(None);
        }
        let steps = viewer.store.journal(id).await?;
        let filter = EventFilter { turn: Some(id.clone()), ..EventFilter::default() };
        let mut events = viewer.store.events(&filter, &EventPage::oldest(MOST_EVENTS as u64)).await?;
        let traces: BTreeSet<TraceId> = events.iter().filter_map(|stored| stored.event.trace_id).collect();
        for trace in traces.into_iter().take(MOST_TRACES) {
            let filter = EventFilter { trace: Some(trace), ..EventFilter::default() };
            let around = viewer.newest_stored(filter, MOST_EVENTS).await?;
            // A trace may hold other turns as well.
            events.extend(around.into_iter().filter(|stored| stored.event.turn_id.is_none()));
        }
        events.sort_by_key(|stored| EventKey::from(stored));
        events.dedup_by_key(|stored| stored.id);
        Ok(Some(Self { turn, steps, events }))
    }

    /// The events as the tree they happened in; `None` if there are none any more.
    #[must_use]
    pub fn tree(&self) -> Option<SpanTree> {
        SpanTree::of(self.events.clone())
    }

    /// What it came to.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let (mut calls, mut usage) = (0, Usage::default());
        for step in &self.steps {
            if let Step::Call { usage: one, .. } = &step.step {
                calls += 1;
                usage = usage + *one;
            }
        }
        let of = |event_type: EventType| {
            self.events.iter().map(|stored| &stored.event).filter(move |event| event.event_type == event_type)
        };
        let failed = of(EventType::ApiError).count();
        Totals { calls, failed, usage, cost: cost(of(EventType::ApiCall), of(EventType::ApiError)) }
    }
}

/// The turn that took up, or wrote, the message with this id.
///
/// # Errors
/// If the store can't be read.
pub async fn turn_of_message(store: &Store, id: &str) -> Result<Option<Turn>, StoreError> {
    let Ok(id) = MessageId::new(id) else { return Ok(None) };
    match store.answer_to(&id).await {
        Ok(answer) => Ok(answer.map(|answer| answer.turn)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What calls cost together. A call that failed before it took anything costs nothing.
pub(crate) fn cost<'a>(
    calls: impl Iterator<Item = &'a Event>,
    failed: impl Iterator<Item = &'a Event>,
) -> Price {
    let price = |event: &Event| Price::from(event.cost_usd.map(Money::from_dollars));
    let mut calls = calls.map(price).peekable();
    if calls.peek().is_none() {
        return Price::Unknown;
    }
    let paid = failed.filter(|event| event.tokens_in.is_some() || event.cost_usd.is_some()).map(price);
    calls.chain(paid).fold(Price::Known(Money::ZERO), |sum, price| sum + price)
}
