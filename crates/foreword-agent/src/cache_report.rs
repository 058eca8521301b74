//! What the provider's cache gave, and why it gave no more: put together from the log, as far as whoever looks may see it.

use std::collections::BTreeMap;

use foreword_core::cache::{HitRate, Reported};
use foreword_core::event::{Event, EventType};
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::message::Usage;
use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::events::EventFilter;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::viewer::Viewer;

/// How many calls are looked at.
const MOST_CALLS: usize = 50_000;

/// What the cache gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CacheReport {
    /// Over all calls.
    #[serde(flatten)]
    pub rate: HitRate,
    /// What was missed, by cause, the dearest first.
    pub causes: Vec<CauseSum>,
    /// The conversations, the last one active first.
    pub conversations: Vec<Talk>,
    /// Whether there were more calls than were looked at.
    pub cut: bool,
}

/// What one cause came to.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CauseSum {
    /// The cause's short name.
    pub cause: String,
    /// How often.
    pub misses: u64,
    /// Tokens that were processed again.
    pub tokens_rewritten: u64,
    /// What that cost more than reading them would have, as far as prices are known, in US dollars.
    pub extra_usd: f64,
    /// How often nobody knows what it cost.
    pub unpriced: u64,
}

/// A conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Talk {
    /// Its id.
    pub conversation: ConversationId,
    /// Over its calls.
    #[serde(flatten)]
    pub rate: HitRate,
    /// What was missed, the first first.
    pub misses: Vec<Miss>,
    /// When it last called a model.
    pub last_call_at: Timestamp,
}

/// A request that read less than it could have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Miss {
    /// When it was sent.
    pub at: Timestamp,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// Which turn of the conversation that is; the first is 1.
    pub turn: Option<u64>,
    /// The diagnosis, as [`foreword_core::cache::Diagnosis`] is written.
    #[serde(flatten)]
    pub diagnosis: Map<String, Value>,
}

impl Miss {
    /// A field of the diagnosis that is a text.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        self.diagnosis.get(field)?.as_str()
    }

    /// A field of the diagnosis that is a list of texts.
    pub fn texts(&self, field: &str) -> impl Iterator<Item = &str> {
        self.diagnosis.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// What it cost more than a hit, in US dollars.
    #[must_use]
    pub fn extra_usd(&self) -> Option<f64> {
        let amount = |field| self.diagnosis.get(field)?.as_f64();
        Some((amount("cost_usd")? - amount("cost_if_hit_usd")?).max(0.0))
    }
}

impl CacheReport {
    /// What the cache gave since then, in one conversation or in all of them, as far as `viewer` may see it.
    ///
    /// # Errors
    /// If the store can't be read.
    pub async fn seen_by(
        viewer: &Viewer,
        session: Option<ConversationId>,
        since: Option<Timestamp>,
    ) -> Result<Self, StoreError> {
        let of = |event_type| EventFilter {
            event_type: Some(event_type),
            session: session.clone(),
            since,
            ..EventFilter::default()
        };
        let calls = viewer.newest(of(EventType::ApiCall), MOST_CALLS).await?;
        let misses = viewer.newest(of(EventType::CacheMiss), MOST_CALLS).await?;
        let mut report = Self { cut: calls.len() >= MOST_CALLS, ..Self::default() };
        let mut talks: BTreeMap<ConversationId, Talk> = BTreeMap::new();
        for call in &calls {
            report.count(call, &mut talks);
        }
        for miss in misses.into_iter().rev() {
            let Some(talk) = miss.session_id.as_ref().and_then(|id| talks.get_mut(id)) else { continue };
            let turn = match &miss.turn_id {
                Some(turn) => viewer.store.turn_place(turn).await?,
                None => None,
            };
            if let Some(Value::Object(diagnosis)) = miss.metadata {
                talk.misses.push(Miss { at: miss.timestamp, turn_id: miss.turn_id, turn, diagnosis });
            }
        }
        report.causes = causes(talks.values().flat_map(|talk| &talk.misses));
        report.conversations = talks.into_values().collect();
        report.conversations.sort_by_key(|talk| std::cmp::Reverse(talk.last_call_at));
        Ok(report)
    }

    fn count(&mut self, call: &Event, talks: &mut BTreeMap<ConversationId, Talk>) {
        let reported = reported(call);
        self.rate.add(&reported);
        let Some(id) = &call.session_id else { return };
        let talk = talks.entry(id.clone()).or_insert_with(|| Talk {
            conversation: id.clone(),
            rate: HitRate::default(),
            misses: Vec::new(),
            last_call_at: call.timestamp,
        });
        talk.rate.add(&reported);
        talk.last_call_at = talk.last_call_at.max(call.timestamp);
    }
}

fn reported(call: &Event) -> Reported {
    let whole = call.tokens_in.unwrap_or_default();
    let output = call.tokens_out.unwrap_or_default();
    match (call.cache_read_tokens, call.cache_write_tokens) {
        (None, None) => Reported::WithoutCache(Usage { input: whole, output, ..Usage::default() }),
        (read, write) => {
            let (cache_read, cache_write) = (read.unwrap_or_default(), write.unwrap_or_default());
            let input = whole.saturating_sub(cache_read).saturating_sub(cache_write);
            Reported::WithCache(Usage { input, output, cache_read, cache_write, ..Usage::default() })
        }
    }
}

fn causes<'a>(misses: impl Iterator<Item = &'a Miss>) -> Vec<CauseSum> {
    let mut sums: BTreeMap<&str, CauseSum> = BTreeMap::new();
    for miss in misses {
        let cause = miss.text("cause").unwrap_or("unknown");
        let sum =
            sums.entry(cause).or_insert_with(|| CauseSum { cause: cause.to_owned(), ..CauseSum::default() });
        sum.misses += 1;
        sum.tokens_rewritten += miss.diagnosis.get("tokens_rewritten").and_then(Value::as_u64).unwrap_or(0);
        match miss.extra_usd() {
            Some(extra) => sum.extra_usd += extra,
            None => sum.unpriced += 1,
        }
    }
    let mut sums: Vec<CauseSum> = sums.into_values().collect();
    sums.sort_by(|one, other| {
        other.extra_usd.total_cmp(&one.extra_usd).then(other.tokens_rewritten.cmp(&one.tokens_rewritten))
    });
    sums
}
