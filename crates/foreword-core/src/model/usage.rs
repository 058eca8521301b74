//! Parses the token usage reported by providers, which some report in parts.

use serde_json::Value;

use crate::message::Usage;
use crate::money::Money;

/// The usage of an Anthropic answer, reported in parts: a field that a later part omits keeps its value.
///
/// ```
/// use foreword_core::model::AnthropicUsage;
/// use serde_json::json;
///
/// let mut reported = AnthropicUsage::default();
/// reported.add(&json!({ "input_tokens": 12, "cache_read_input_tokens": 900, "output_tokens": 1 }));
/// let usage = reported.add(&json!({ "output_tokens": 44 })).unwrap();
/// assert_eq!((usage.input, usage.cache_read, usage.output, usage.cache_unknown), (12, 900, 44, false));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AnthropicUsage {
    usage: Usage,
    /// Whether any part reported cache usage.
    cache_known: bool,
}

impl AnthropicUsage {
    /// Adds a `usage` object and returns the usage so far. `input_tokens` excludes tokens read from or written to the
    /// cache.
    pub fn add(&mut self, said: &Value) -> Option<Usage> {
        if !said.is_object() {
            return None;
        }
        let usage = &mut self.usage;
        let known = ["cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"];
        self.cache_known |= known.iter().any(|key| !said[*key].is_null());
        usage.cache_unknown = !self.cache_known;
        let fields = [
            (&mut usage.input, &said["input_tokens"]),
            (&mut usage.output, &said["output_tokens"]),
            (&mut usage.cache_read, &said["cache_read_input_tokens"]),
            (&mut usage.cache_write, &said["cache_creation_input_tokens"]),
            (&mut usage.cache_write_1h, &said["cache_creation"]["ephemeral_1h_input_tokens"]),
        ];
        for (field, said) in fields {
            *field = said.as_u64().unwrap_or(*field);
        }
        // Some servers report only the parts.
        let five_minutes = said["cache_creation"]["ephemeral_5m_input_tokens"].as_u64().unwrap_or_default();
        usage.cache_write = usage.cache_write.max(five_minutes.saturating_add(usage.cache_write_1h));
        Some(*usage)
    }
}

/// The usage of an OpenAI answer, where `prompt_tokens` includes cached tokens.
///
/// ```
/// use foreword_core::model::openai_usage;
/// use serde_json::json;
///
/// let said = json!({ "prompt_tokens": 1000, "completion_tokens": 7, "prompt_tokens_details": { "cached_tokens": 896 } });
/// let usage = openai_usage(&said).unwrap();
/// assert_eq!((usage.input, usage.cache_read, usage.output), (104, 896, 7));
/// ```
#[must_use]
pub fn openai_usage(said: &Value) -> Option<Usage> {
    let prompt = said["prompt_tokens"].as_u64()?;
    let details = &said["prompt_tokens_details"];
    let first = |places: [&Value; 3]| places.into_iter().find_map(Value::as_u64);
    // Field names of OpenAI, of DeepSeek or LiteLLM, and of a gateway in front of Anthropic.
    let read = first([
        &details["cached_tokens"],
        &said["prompt_cache_hit_tokens"],
        &said["cache_read_input_tokens"],
    ]);
    let written = first([
        &details["cache_write_tokens"],
        &details["cache_creation_tokens"],
        &said["cache_creation_input_tokens"],
    ]);
    let cache_unknown = read.is_none() && written.is_none();
    let (cache_read, cache_write) = (read.unwrap_or_default(), written.unwrap_or_default());
    Some(Usage {
        input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
        output: said["completion_tokens"].as_u64().unwrap_or_default(),
        cache_read,
        cache_write,
        cache_unknown,
        cache_write_1h: details["cache_creation_token_details"]["ephemeral_1h_input_tokens"]
            .as_u64()
            .unwrap_or_default(),
    })
}

/// The charge reported by the provider, in US dollars: `usage.cost`, as in OpenRouter. With the user's own key, the
/// upstream provider's charge is added.
///
/// ```
/// use foreword_core::model::reported_cost;
/// use serde_json::json;
///
/// assert_eq!(reported_cost(&json!({ "cost": 0.0123 })).unwrap().to_string(), "$0.0123");
/// let own_key = json!({ "cost": 0.01, "is_byok": true, "cost_details": { "upstream_inference_cost": 0.2 } });
/// assert_eq!(reported_cost(&own_key).unwrap().to_string(), "$0.2100");
/// assert_eq!(reported_cost(&json!({ "prompt_tokens": 7 })), None);
/// ```
#[must_use]
pub fn reported_cost(said: &Value) -> Option<Money> {
    let amount = |said: &Value| said.as_f64().filter(|dollars| *dollars >= 0.0).map(Money::from_dollars);
    let cost = amount(&said["cost"])?;
    if said["is_byok"] != true {
        return Some(cost);
    }
    Some(cost + amount(&said["cost_details"]["upstream_inference_cost"])?)
}
