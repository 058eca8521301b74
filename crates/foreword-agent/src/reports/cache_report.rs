//! The cache report: hit rates and the causes of cache misses, from the log, as far as the viewer may see it.

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

use crate::reports::viewer::Viewer;

/// How many calls are read.
const MAX_CALLS: usize = 50_000;

/// Hit rates and misses.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CacheReport {
    /// The hit rate of all calls.
    #[serde(flatten)]
    pub rate: HitRate,
    /// Misses by cause, most expensive first.
    pub causes: Vec<CauseSum>,
    /// The conversations, most recently active first.
    pub conversations: Vec<CacheConversation>,
    /// Whether there were more calls than were read.
    pub cut: bool,
}

/// The misses of one cause.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct CauseSum {
    /// The cause's short name.
    pub cause: String,
    /// Number of misses.
    pub misses: u64,
    /// Tokens that were processed again.
    pub tokens_rewritten: u64,
    /// Additional cost compared with cache reads, as far as prices are known, in US dollars.
    pub extra_usd: f64,
    /// Number of misses with an unknown price.
    pub unpriced: u64,
}

/// The hit rate and misses of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheConversation {
    pub conversation: ConversationId,
    /// The hit rate of its calls.
    #[serde(flatten)]
    pub rate: HitRate,
    /// Its misses, oldest first.
    pub misses: Vec<Miss>,
    /// When it last called a model.
    pub last_call_at: Timestamp,
}

/// A request with a cache miss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Miss {
    /// When it was sent.
    pub at: Timestamp,
    pub turn_id: Option<TurnId>,
    /// The turn's number in the conversation; the first is 1.
    pub turn: Option<u64>,
    /// The diagnosis, serialised from [`foreword_core::cache::Diagnosis`].
    #[serde(flatten)]
    pub diagnosis: Map<String, Value>,
}

impl Miss {
    /// A string field of the diagnosis.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<&str> {
        self.diagnosis.get(field)?.as_str()
    }

    /// A string list field of the diagnosis.
    pub fn texts(&self, field: &str) -> impl Iterator<Item = &str> {
        self.diagnosis.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }

    /// Additional cost compared with a hit, in US dollars.
    #[must_use]
    pub fn extra_usd(&self) -> Option<f64> {
        let amount = |field| self.diagnosis.get(field)?.as_f64();
        Some((amount("cost_usd")? - amount("cost_if_hit_usd")?).max(0.0))
    }
}

impl CacheReport {
    /// The report since `since`, of one conversation or of all, as far as `viewer` may see them.
    pub async fn visible_to(
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
        let calls = viewer.newest(of(EventType::ApiCall), MAX_CALLS).await?;
        let misses = viewer.newest(of(EventType::CacheMiss), MAX_CALLS).await?;
        let mut report = Self { cut: calls.len() >= MAX_CALLS, ..Self::default() };
        let mut conversations: BTreeMap<ConversationId, CacheConversation> = BTreeMap::new();
        for call in &calls {
            report.count(call, &mut conversations);
        }
        for miss in misses.into_iter().rev() {
            let Some(conversation) = miss.session_id.as_ref().and_then(|id| conversations.get_mut(id)) else {
                continue;
            };
            let turn = match &miss.turn_id {
                Some(turn) => viewer.store.turn_number(turn).await?,
                None => None,
            };
            if let Some(Value::Object(diagnosis)) = miss.metadata {
                conversation.misses.push(Miss { at: miss.timestamp, turn_id: miss.turn_id, turn, diagnosis });
            }
        }
        report.causes = causes(conversations.values().flat_map(|conversation| &conversation.misses));
        report.conversations = conversations.into_values().collect();
        report.conversations.sort_by_key(|conversation| std::cmp::Reverse(conversation.last_call_at));
        Ok(report)
    }

    fn count(&mut self, call: &Event, conversations: &mut BTreeMap<ConversationId, CacheConversation>) {
        let reported = reported(call);
        self.rate.add(&reported);
        let Some(id) = &call.session_id else { return };
        let conversation = conversations.entry(id.clone()).or_insert_with(|| CacheConversation {
            conversation: id.clone(),
            rate: HitRate::default(),
            misses: Vec::new(),
            last_call_at: call.timestamp,
        });
        conversation.rate.add(&reported);
        conversation.last_call_at = conversation.last_call_at.max(call.timestamp);
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
