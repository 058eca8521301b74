//! The counters, and the events that increment them.

use foreword_core::event::{Event, EventType};
use foreword_prompt::occasion::Channel;
use serde_json::Value;

use super::histogram::Histogram;
use super::labels::{ByName, OTHER};

/// The outcomes of turns, as in the journal.
pub(super) const OUTCOMES: [&str; 5] = ["done", "failed", "cancelled", "interrupted", OTHER];

/// The error kinds of model calls, as in events.
pub(super) const ERROR_KINDS: [&str; 11] = [
    "rate_limited",
    "unavailable",
    "network",
    "timeout",
    "broken_stream",
    "context_too_long",
    "authentication",
    "unknown_model",
    "bad_request",
    "not_configured",
    OTHER,
];

/// All counters.
#[derive(Debug, Clone, Default)]
pub(super) struct Counters {
    pub(super) turns: [u64; OUTCOMES.len()],
    pub(super) turn_seconds: Histogram,
    /// By `provider/name`.
    pub(super) models: ByName<OfModel, 32>,
    /// By provider.
    pub(super) rate_limits: ByName<u64, 16>,
    pub(super) tools: ByName<OfTool, 64>,
    /// By channel family.
    pub(super) channels: ByName<OfChannel, 16>,
    pub(super) cache_misses: ByName<u64, 16>,
    pub(super) schedules_fired: u64,
    pub(super) schedules_failed: u64,
    pub(super) compactions: u64,
    pub(super) compactions_failed: u64,
    pub(super) budget_warnings: u64,
    pub(super) budget_stops: u64,
}

/// The counters of one model.
#[derive(Debug, Clone, Default)]
pub(super) struct OfModel {
    pub(super) calls: u64,
    /// Calls without a known price.
    pub(super) unpriced: u64,
    pub(super) errors: [u64; ERROR_KINDS.len()],
    pub(super) seconds: Histogram,
    /// Input tokens neither read from nor written to a cache.
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) dollars: f64,
}

/// The counters of one tool.
#[derive(Debug, Clone, Default)]
pub(super) struct OfTool {
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) blocked: u64,
    pub(super) timeouts: u64,
    pub(super) seconds: Histogram,
}

/// The counters of one channel family.
#[derive(Debug, Clone, Default)]
pub(super) struct OfChannel {
    pub(super) received: u64,
    pub(super) sent: u64,
}

impl Counters {
    pub(super) fn take(&mut self, event: &Event) {
        match event.event_type {
            EventType::TurnCompleted => self.turn_completed(event),
            EventType::ApiCall | EventType::ApiError => self.model(event),
            EventType::ProviderRateLimit => *self.rate_limits.of(word(event, "provider")) += 1,
            EventType::CacheMiss => *self.cache_misses.of(word(event, "cause")) += 1,
            EventType::BudgetWarning => self.budget_warnings += 1,
            EventType::BudgetExceeded => self.budget_stops += 1,
            EventType::ToolCall | EventType::ToolError | EventType::ToolBlocked | EventType::ToolTimeout => {
                self.tool(event)
            }
            EventType::MessageReceived => self.channel(event).received += 1,
            EventType::MessageSent => self.channel(event).sent += 1,
            EventType::ScheduleFired => self.schedules_fired += 1,
            EventType::ScheduleError => self.schedules_failed += 1,
            EventType::SessionCompacted => self.compactions += 1,
            EventType::CompactionFailed => self.compactions_failed += 1,
            _ => {}
        }
    }

    fn turn_completed(&mut self, event: &Event) {
        // A turn that never started has no outcome field.
        let outcome = match word(event, "outcome") {
            "" if event.error.is_some() => "failed",
            outcome => outcome,
        };
        count(&mut self.turns, &OUTCOMES, outcome);
        if let Some(took) = event.duration_ms {
            self.turn_seconds.observe(took);
        }
    }

    fn model(&mut self, event: &Event) {
        let named = word(event, "model");
        let model = self.models.of(if named.is_empty() { word(event, "provider") } else { named });
        let (read, written) =
            (event.cache_read_tokens.unwrap_or_default(), event.cache_write_tokens.unwrap_or_default());
        model.input += event.tokens_in.unwrap_or_default().saturating_sub(read.saturating_add(written));
        model.output += event.tokens_out.unwrap_or_default();
        model.cache_read += read;
        model.cache_write += written;
        model.dollars += event.cost_usd.unwrap_or_default();
        if event.event_type == EventType::ApiError {
            return count(&mut model.errors, &ERROR_KINDS, word(event, "kind"));
        }
        model.calls += 1;
        model.unpriced += u64::from(event.cost_usd.is_none());
        if let Some(took) = event.duration_ms {
            model.seconds.observe(took);
        }
    }

    fn tool(&mut self, event: &Event) {
        let name = word(event, "tool");
        match event.event_type {
            // The model may have invented the name of a blocked tool.
            EventType::ToolBlocked => self.tools.of_known(name).blocked += 1,
            EventType::ToolError => self.tools.of(name).errors += 1,
            EventType::ToolTimeout => self.tools.of(name).timeouts += 1,
            _ => {
                let tool = self.tools.of(name);
                tool.calls += 1;
                if let Some(took) = event.duration_ms {
                    tool.seconds.observe(took);
                }
            }
        }
    }

    fn channel(&mut self, event: &Event) -> &mut OfChannel {
        let channel = event.channel.as_deref().map(Channel::new);
        self.channels.of(channel.as_ref().and_then(Channel::family).unwrap_or("none"))
    }
}

/// A string of the event's metadata, or the empty string.
fn word<'e>(event: &'e Event, key: &str) -> &'e str {
    event.metadata.as_ref().and_then(|all| all.get(key)).and_then(Value::as_str).unwrap_or_default()
}

/// Increments the counter of `word`; the last of `words` counts all others.
fn count<const N: usize>(counts: &mut [u64; N], words: &[&str; N], word: &str) {
    let index = words.iter().position(|known| *known == word).unwrap_or(N - 1);
    if let Some(count) = counts.get_mut(index) {
        *count += 1;
    }
}
