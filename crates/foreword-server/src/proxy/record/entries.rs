//! The events of an exchange: the same as for the agent's own model calls, with the payer.

use std::sync::Arc;
use std::time::Duration;

use foreword_core::api_token::ProxyMode;
use foreword_core::event::{Event, EventType, TraceId};
use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_core::model::ErrorKind;
use foreword_core::money::Price;
use serde_json::{Map, Value, json};

use super::threads;
use crate::proxy::exchange::{Exchange, ExchangeOutcome, Payer};

/// The channel of a proxied client.
pub(super) fn channel(payer: &Payer) -> String {
    format!("proxy:{}", payer.credential())
}

/// An exchange with the data for its events.
pub(super) struct Entry<'a> {
    pub(super) exchange: &'a Exchange,
    pub(super) conversation: Option<&'a ConversationId>,
    /// `provider/model`, if the request named one.
    pub(super) model: Option<&'a str>,
    pub(super) price: Price,
    pub(super) agent: &'a Arc<str>,
}

impl Entry<'_> {
    pub(super) fn events(&self) -> Vec<Event> {
        let Exchange { route, summary, .. } = self.exchange;
        let Some(kind) = failure(self.exchange) else {
            // Free and successful requests are not logged.
            let counts = route.is_turn() || summary.usage.is_some();
            return if counts { vec![self.call(EventType::ApiCall, Map::new())] } else { Vec::new() };
        };
        let more = json!({ "kind": kind, "statusCode": self.exchange.status.map(|status| status.as_u16()) });
        let more = if let Value::Object(more) = more { more } else { Map::new() };
        let failed = Event { error: Some(self.error_text(kind)), ..self.call(EventType::ApiError, more) };
        let mut events = vec![failed];
        if kind == ErrorKind::RateLimited {
            let metadata = json!({ "provider": &*self.exchange.provider });
            events.push(Event { metadata: Some(metadata), ..self.named(EventType::ProviderRateLimit) });
        }
        events
    }

    /// A new event of this request.
    pub(super) fn named(&self, event_type: EventType) -> Event {
        self.on(Event::new(event_type, self.exchange.began))
    }

    /// Adds the request's ids to an event.
    pub(super) fn on(&self, event: Event) -> Event {
        let Exchange { payer, mode, request_id, began, .. } = self.exchange;
        let trace = TraceId::named_at(request_id, *began);
        // In `observe` no agent is involved.
        let agent = (*mode != ProxyMode::Observe).then(|| Arc::clone(self.agent));
        let span = |name: &str| trace.and_then(|trace| trace.span(name));
        let is_part = event.event_type != EventType::ApiCall && event.event_type != EventType::ApiError;
        Event {
            session_id: self.conversation.cloned(),
            agent_id: agent,
            user_id: payer.user().map(Into::into),
            channel: Some(channel(payer).into()),
            trace_id: trace,
            span_id: if is_part { span(event.event_type.as_str()) } else { span("request") },
            parent_span_id: if is_part { span("request") } else { None },
            ..event
        }
    }

    fn call(&self, event_type: EventType, more: Map<String, Value>) -> Event {
        let Exchange { took, summary, .. } = self.exchange;
        let usage = summary.usage;
        let mut metadata = self.metadata();
        metadata.extend(more);
        Event {
            duration_ms: Some(millis(*took)),
            tokens_in: usage.map(|usage| usage.input + usage.cache_read + usage.cache_write),
            tokens_out: usage.map(|usage| usage.output),
            cache_read_tokens: cached(usage, |usage| usage.cache_read),
            cache_write_tokens: cached(usage, |usage| usage.cache_write),
            cost_usd: self.price.known().filter(|_| usage.is_some()).map(|cost| cost.dollars()),
            metadata: Some(Value::Object(metadata)),
            ..self.named(event_type)
        }
    }

    fn metadata(&self) -> Map<String, Value> {
        let exchange = self.exchange;
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| {
            fields.insert(name.to_owned(), value);
        };
        put("provider", (&*exchange.provider).into());
        put("mode", exchange.mode.as_str().into());
        put("dialect", threads::dialect_name(exchange.dialect).into());
        put("requestId", exchange.request_id.as_str().into());
        // Estimates are not part of the log's sums.
        let estimated = self.price.known().filter(|_| exchange.summary.usage.is_none());
        let optional = [
            ("model", self.model.map(Value::from)),
            ("upstreamRequestId", exchange.upstream_request_id.as_deref().map(Value::from)),
            ("answerId", exchange.summary.answer_id.as_deref().map(Value::from)),
            ("stopReason", exchange.summary.stop_reason.as_deref().map(Value::from)),
            ("firstByteMs", exchange.first_byte.map(|first| millis(first).into())),
            ("retries", Some(exchange.retries).filter(|retries| *retries > 0).map(Value::from)),
            ("epoch", exchange.epoch.map(Value::from)),
            ("estimatedCostUsd", estimated.map(|cost| cost.dollars().into())),
            (
                "clientWentAway",
                (exchange.outcome == ExchangeOutcome::ClientDisconnected).then_some(Value::Bool(true)),
            ),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                put(name, value);
            }
        }
        fields
    }

    fn error_text(&self, kind: ErrorKind) -> String {
        let Exchange { provider, status, summary, .. } = self.exchange;
        let status =
            status.filter(|status| !status.is_success()).map(|status| format!(" ({})", status.as_u16()));
        let said = summary.error.as_deref().map(|said| format!(": {said}"));
        format!("{provider}: {kind}{}{}", status.unwrap_or_default(), said.unwrap_or_default())
    }
}

/// The kind of failure, if any. A disconnect of the client is not a failure.
pub(super) fn failure(exchange: &Exchange) -> Option<ErrorKind> {
    let refused = exchange.status.filter(|status| status.is_client_error() || status.is_server_error());
    if let Some(status) = refused {
        return Some(match status.as_u16() {
            429 => ErrorKind::RateLimited,
            401 | 403 => ErrorKind::Authentication,
            408 => ErrorKind::Timeout,
            413 => ErrorKind::ContextTooLong,
            404 => ErrorKind::UnknownModel,
            500.. => ErrorKind::Unavailable,
            _ => ErrorKind::BadRequest,
        });
    }
    match exchange.outcome {
        ExchangeOutcome::Unreachable => Some(ErrorKind::Network),
        ExchangeOutcome::TimedOut => Some(ErrorKind::Timeout),
        ExchangeOutcome::Aborted => Some(ErrorKind::BrokenStream),
        ExchangeOutcome::Answered | ExchangeOutcome::ClientDisconnected => {
            exchange.summary.error.as_ref()?;
            Some(match exchange.summary.error_type.as_deref() {
                Some("rate_limit_error" | "rate_limit_exceeded") => ErrorKind::RateLimited,
                Some("overloaded_error" | "api_error" | "server_error") => ErrorKind::Unavailable,
                _ => ErrorKind::BrokenStream,
            })
        }
    }
}

/// A number of cached tokens, if the provider reports them. Unknown is not zero.
fn cached(usage: Option<Usage>, tokens: impl Fn(Usage) -> u64) -> Option<u64> {
    usage.filter(|usage| !usage.cache_unknown).map(tokens)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
