//! The cost of a model call, from the reported usage.

use crate::message::Usage;
use crate::models::{Breakpoints, ModelFacts, Prices};
use crate::money::{Money, Price, Rate};

/// The cost of a call with `usage`. An unknown price makes the cost unknown, unless no tokens of that kind were used;
/// it never counts as zero.
///
/// ```
/// use foreword_core::message::Usage;
/// use foreword_core::models::ModelCatalog;
/// use foreword_core::price::cost_of;
///
/// let catalog = ModelCatalog::builtin();
/// let usage = Usage { input: 1_000, output: 200, cache_read: 10_000, ..Usage::default() };
/// assert_eq!(cost_of(catalog.find("anthropic/claude-haiku-4-5"), &usage).to_string(), "$0.0030");
/// assert_eq!(cost_of(catalog.find("anthropic/unheard-of"), &usage).to_string(), "unknown");
/// ```
#[must_use]
pub fn cost_of(facts: Option<&ModelFacts>, usage: &Usage) -> Price {
    // A tier applies to the whole request and depends on all input tokens.
    let whole = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    cost_within(facts, usage, whole)
}

/// The cost of a part of a call with `usage`, in a request of `whole` input tokens.
#[must_use]
pub fn cost_within(facts: Option<&ModelFacts>, usage: &Usage, whole: u64) -> Price {
    let Some(facts) = facts else { return Price::Unknown };
    let Some(prices) = facts.prices_at(size(whole)) else { return Price::Unknown };
    let hour = usage.cache_write_1h.min(usage.cache_write);
    let rates = CacheRates::of(facts.breakpoints, prices);
    [
        (usage.input, Some(prices.input)),
        (usage.cache_read, rates.read),
        (usage.cache_write - hour, rates.write_5m),
        (hour, rates.write_1h),
        (usage.output, Some(prices.output)),
    ]
    .into_iter()
    .map(|(tokens, rate)| part(tokens, rate))
    .fold(Price::Known(Money::default()), |sum, part| sum + part)
}

fn part(tokens: u64, rate: Option<Rate>) -> Price {
    match rate {
        _ if tokens == 0 => Price::Known(Money::default()),
        Some(rate) => Price::Known(rate.times(size(tokens))),
        None => Price::Unknown,
    }
}

fn size(tokens: u64) -> usize {
    usize::try_from(tokens).unwrap_or(usize::MAX)
}

/// The cache prices.
struct CacheRates {
    read: Option<Rate>,
    write_5m: Option<Rate>,
    write_1h: Option<Rate>,
}

impl CacheRates {
    fn of(breakpoints: Breakpoints, prices: &Prices) -> Self {
        // Free input and output imply a free cache.
        let free = [prices.input, prices.output].iter().all(|rate| rate.times(1) == Money::default());
        let nothing = free.then_some(prices.input);
        let write_5m = match breakpoints {
            // With automatic caching, a write without its own price costs as much as input.
            Breakpoints::Automatic | Breakpoints::Either => prices.cache_write_5m.or(Some(prices.input)),
            Breakpoints::Explicit | Breakpoints::None => prices.cache_write_5m,
        };
        Self {
            read: prices.cache_read.or(nothing),
            write_5m: write_5m.or(nothing),
            write_1h: prices.cache_write_1h.or(nothing),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::models::ModelCatalog;

    static CATALOG: LazyLock<ModelCatalog> = LazyLock::new(ModelCatalog::builtin);

    const NONE: Usage =
        Usage { input: 0, output: 0, cache_read: 0, cache_write: 0, cache_write_1h: 0, cache_unknown: false };

    #[test]
    fn each_token_is_charged_at_its_own_rate() {
        let (haiku, tiered) = ("anthropic/claude-haiku-4-5", "anthropic/claude-haiku-5-5");
        for (model, usage, cost) in [
            (haiku, NONE, "$0"),
            (haiku, Usage { input: 1_000, ..NONE }, "$0.0010"),
            (haiku, Usage { output: 1_000, ..NONE }, "$0.0050"),
            (haiku, Usage { cache_read: 10_000, ..NONE }, "$0.0010"),
            (haiku, Usage { cache_write: 1_000, ..NONE }, "$0.0013"),
            (haiku, Usage { cache_write: 1_000, cache_write_1h: 1_000, ..NONE }, "$0.0020"),
            // 4,000 × 1.25 + 6,000 × 2.
            (haiku, Usage { cache_write: 10_000, cache_write_1h: 6_000, ..NONE }, "$0.0170"),
            // More one-hour writes than writes in all: limited to all writes.
            (haiku, Usage { cache_write: 1_000, cache_write_1h: 9_000, ..NONE }, "$0.0020"),
            // The tier depends on the whole input, 100,000 against 100,001, and applies to everything, output included:
            // 10,000 × 0.1 + 70,000 × 0.01 + 20,000 × 0.125 + 1,000 × 0.5, then five times as much.
            (
                tiered,
                Usage { input: 10_000, cache_read: 70_000, cache_write: 20_000, output: 1_000, ..NONE },
                "$0.0047",
            ),
            (
                tiered,
                Usage { input: 10_001, cache_read: 70_000, cache_write: 20_000, output: 1_000, ..NONE },
                "$0.0235",
            ),
            (tiered, Usage { output: 200_000, ..NONE }, "$0.1000"),
            // OpenAI caches automatically, and older models charge nothing extra for it.
            ("openai/gpt-4o", Usage { input: 1_000, cache_write: 1_000, ..NONE }, "$0.0050"),
            ("openai/gpt-4-turbo", Usage { input: 1_000, cache_read: 1, ..NONE }, "unknown"),
            ("openai/gpt-4-turbo", Usage { input: 1_000, ..NONE }, "$0.0100"),
            ("openai/gpt-unheard-of", Usage { input: 1, ..NONE }, "unknown"),
        ] {
            assert_eq!(cost_of(CATALOG.find(model), &usage).to_string(), cost, "{model} {usage:?}");
        }
    }

    #[test]
    fn missing_price_matters_only_if_used() {
        let check = |table: &str, usage: Usage, cost: &str| {
            let catalog = ModelCatalog::from_yaml(&format!("- id: a/b\n{table}")).unwrap();
            assert_eq!(cost_of(catalog.find("a/b"), &usage).to_string(), cost, "{table} {usage:?}");
        };
        let explicit = "  breakpoints: explicit\n  prices: {input: 1, output: 1, cache_write_5m: 2}\n";
        check(explicit, Usage { input: 1_000, cache_write: 1_000, ..NONE }, "$0.0030");
        check(explicit, Usage { cache_write: 1_000, cache_write_1h: 1, ..NONE }, "unknown");
        check(explicit, Usage { cache_read: 1, ..NONE }, "unknown");
        check("  context_window: 9\n", NONE, "unknown");
        let free = "  prices: {input: 0, output: 0}\n";
        check(free, Usage { cache_read: 9, cache_write: 9, cache_write_1h: 4, ..NONE }, "$0");
    }

    fn any_usage() -> impl Strategy<Value = Usage> {
        let tokens = 0..1_000_000_u64;
        (tokens.clone(), tokens.clone(), tokens.clone(), tokens.clone(), tokens).prop_map(
            |(input, output, cache_read, cache_write, hour)| Usage {
                input,
                output,
                cache_read,
                cache_write,
                cache_write_1h: hour.min(cache_write),
                cache_unknown: false,
            },
        )
    }

    proptest! {
        #[test]
        fn offline_model_cost_is_exactly_zero(usage in any_usage()) {
            prop_assert_eq!(cost_of(CATALOG.find("offline/echo"), &usage), Price::Known(Money::default()));
        }

        #[test]
        fn nonzero_cost_is_never_zero(usage in any_usage()) {
            let taken = usage != NONE;
            for facts in CATALOG.iter().filter(|facts| facts.id.provider() != "offline") {
                let cost = cost_of(Some(facts), &usage);
                prop_assert_eq!(cost == Price::Known(Money::default()), !taken, "{}: {}", facts.id, cost);
            }
            prop_assert_eq!(cost_of(None, &usage), Price::Unknown);
        }

        #[test]
        fn higher_usage_never_costs_less(usage in any_usage(), more in any_usage()) {
            let both = Usage {
                input: usage.input + more.input,
                output: usage.output + more.output,
                cache_read: usage.cache_read + more.cache_read,
                cache_write: usage.cache_write + more.cache_write,
                cache_write_1h: usage.cache_write_1h + more.cache_write_1h,
                ..NONE
            };
            for facts in CATALOG.iter() {
                if let (Some(less), Some(sum)) = (cost_of(Some(facts), &usage).known(), cost_of(Some(facts), &both).known()) {
                    prop_assert!(less <= sum, "{}", facts.id);
                }
            }
        }

        #[test]
        fn even_absurd_usage_is_priced_without_a_crash(usage in any::<[u64; 5]>()) {
            let [input, output, cache_read, cache_write, cache_write_1h] = usage;
            let usage = Usage { input, output, cache_read, cache_write, cache_write_1h, ..NONE };
            for facts in CATALOG.iter() {
                let _ = cost_of(Some(facts), &usage).to_string();
            }
        }
    }
}
