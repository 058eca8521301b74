//! The trace of one turn: its journal, events and totals, as far as the viewer may see it. A turn that the viewer may
//! not see looks exactly like one that does not exist.

use std::collections::BTreeSet;

use foreword_core::event::{Event, EventType, StoredEvent, TraceId};
use foreword_core::id::{MessageId, TurnId};
use foreword_core::message::Usage;
use foreword_core::money::{Money, Price};
use foreword_core::span_tree::SpanTree;
use foreword_core::turn_journal::JournalStep;
use foreword_store::error::StoreError;
use foreword_store::events::{EventFilter, EventKey, EventPage};
use foreword_store::store::Store;
use foreword_store::turns::{RecordedStep, StoredTurn};

use crate::reports::request_trace::RequestTrace;
use crate::reports::viewer::Viewer;

/// How many events of a turn are read.
const MAX_EVENTS: usize = 500;
/// How many traces of a turn are read: each attempt has its own.
const MAX_TRACES: usize = 8;

/// Names the newest turn.
pub const LAST: &str = "last";
/// How many turns with the same id prefix are read.
const MAX_MATCHES: u32 = 20;
/// How many of them are listed.
const MAX_LISTED_MATCHES: usize = 3;

/// The trace of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnTrace {
    pub turn: StoredTurn,
    /// Its journal.
    pub steps: Vec<RecordedStep>,
    /// Its events, and those of the same trace outside of turns, by time.
    pub events: Vec<StoredEvent>,
}

/// Calls, tokens and cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Answered calls to models.
    pub calls: usize,
    /// Failed ones.
    pub failed: usize,
    /// Tokens.
    pub usage: Usage,
    /// The cost; unknown if the price of any call is unknown.
    pub cost: Price,
}

/// The result of a lookup by id or prefix.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnFound {
    One(Box<TurnTrace>),
    /// A proxied request.
    Request(Box<RequestTrace>),
    /// Nothing that the viewer may see.
    None,
    /// Several turns have this prefix.
    Several {
        /// The first of them.
        ids: Vec<TurnId>,
        /// How many are visible.
        count: usize,
        /// Whether there may be more.
        or_more: bool,
    },
}

impl TurnTrace {
    /// Looks up `word`: [`LAST`], an id as in [`TurnTrace::with_id`], or the prefix of a turn's id.
    pub async fn named(viewer: &Viewer, word: &str) -> Result<TurnFound, StoreError> {
        let found =
            |trace: Option<Self>| trace.map_or(TurnFound::None, |trace| TurnFound::One(Box::new(trace)));
        if word == LAST {
            let started = EventFilter { event_type: Some(EventType::TurnStarted), ..EventFilter::default() };
            let newest = viewer.newest(started, 1).await?;
            return match newest.into_iter().next().and_then(|event| event.turn_id) {
                Some(id) => Ok(found(Self::visible_to(viewer, &id).await?)),
                None => Ok(TurnFound::None),
            };
        }
        match Self::with_id(viewer, word).await? {
            TurnFound::None => {}
            exact => return Ok(exact),
        }
        let mut seen = Vec::new();
        for id in viewer.store.turns_with_id_prefix(word, MAX_MATCHES).await? {
            // Turns that the viewer may not see are not counted.
            seen.extend(Self::visible_to(viewer, &id).await?);
        }
        if seen.len() <= 1 {
            return Ok(found(seen.pop()));
        }
        let ids = seen.iter().take(MAX_LISTED_MATCHES).map(|trace| trace.turn.id.clone()).collect();
        Ok(TurnFound::Several { ids, count: seen.len(), or_more: seen.len() >= MAX_MATCHES as usize })
    }

    /// Looks up the exact id of a turn, a message of a turn, or a proxied request.
    pub async fn with_id(viewer: &Viewer, word: &str) -> Result<TurnFound, StoreError> {
        let Ok(id) = TurnId::new(word) else { return Ok(TurnFound::None) };
        if let Some(trace) = Self::visible_to(viewer, &id).await? {
            return Ok(TurnFound::One(Box::new(trace)));
        }
        if let Some(turn) = turn_of_message(&viewer.store, word).await?
            && let Some(trace) = Self::visible_to(viewer, &turn.id).await?
        {
            return Ok(TurnFound::One(Box::new(trace)));
        }
        let request = RequestTrace::visible_to(viewer, word).await?;
        Ok(request.map_or(TurnFound::None, |request| TurnFound::Request(Box::new(request))))
    }

    /// The turn `id`, as far as `viewer` may see it; `None` if there is no such turn or `viewer` may not see it.
    pub async fn visible_to(viewer: &Viewer, id: &TurnId) -> Result<Option<Self>, StoreError> {
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
        let mut events = viewer.store.events(&filter, &EventPage::oldest(MAX_EVENTS as u64)).await?;
        let traces: BTreeSet<TraceId> = events.iter().filter_map(|stored| stored.event.trace_id).collect();
        for trace in traces.into_iter().take(MAX_TRACES) {
            let filter = EventFilter { trace: Some(trace), ..EventFilter::default() };
            let around = viewer.newest_stored(filter, MAX_EVENTS).await?;
            // A trace may contain other turns.
            events.extend(around.into_iter().filter(|stored| stored.event.turn_id.is_none()));
        }
        events.sort_by_key(|stored| EventKey::from(stored));
        events.dedup_by_key(|stored| stored.id);
        let shown = |stored: StoredEvent| StoredEvent { event: viewer.visible_form(stored.event), ..stored };
        let events = events.into_iter().map(shown).collect();
        Ok(Some(Self { turn, steps, events }))
    }

    /// The events as a tree of spans; `None` if they are no longer stored.
    #[must_use]
    pub fn tree(&self) -> Option<SpanTree> {
        SpanTree::of(self.events.clone())
    }

    /// Calls, tokens and cost.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let (mut calls, mut usage) = (0, Usage::default());
        for step in &self.steps {
            if let JournalStep::Call { usage: one, .. } = &step.step {
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

/// The turn that handled or wrote the message with this id.
pub async fn turn_of_message(store: &Store, id: &str) -> Result<Option<StoredTurn>, StoreError> {
    let Ok(id) = MessageId::new(id) else { return Ok(None) };
    match store.answer_to(&id).await {
        Ok(answer) => Ok(answer.map(|answer| answer.turn)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The total cost of calls. A failed call without token counts costs nothing.
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
