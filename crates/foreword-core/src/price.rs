//! The price of sending a prompt, with a cold and a warm cache, and the cost of a call. Output is not included in
//! prompt prices. Sizes and facts are passed in.

mod cost;

use std::fmt;
use std::ops::Add as _;

use serde::{Deserialize, Serialize};

use crate::models::{Breakpoints, ModelFacts, Prices};
use crate::money::{Price, Rate};

pub use cost::{cost_of, cost_within};

/// The size of a prompt and its cache breakpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptSize<'a> {
    /// The breakpoints, in order.
    pub breakpoints: &'a [CacheBreakpoint],
    /// The tokens after the last breakpoint, which are never cached.
    pub tail: usize,
}

/// A cache breakpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheBreakpoint {
    /// The tokens before it, from the start of the prompt.
    pub tokens: usize,
    /// The requested time to live.
    pub ttl: CacheTtl,
}

/// For how long a provider is asked to keep a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CacheTtl {
    /// Five minutes since it was last read.
    #[default]
    #[serde(rename = "5m")]
    FiveMinutes,
    /// An hour since it was last read.
    #[serde(rename = "1h")]
    OneHour,
}

impl CacheTtl {
    /// The time in seconds.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        match self {
            Self::FiveMinutes => 300,
            Self::OneHour => 3_600,
        }
    }
}

/// The price of sending a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TurnPrice {
    /// With a cold cache: the cacheable part is written.
    pub cold: Price,
    /// With a warm cache: the cacheable part is read.
    pub warm: Price,
}

impl TurnPrice {
    /// Unknown prices.
    pub const UNKNOWN: Self = Self { cold: Price::Unknown, warm: Price::Unknown };

    /// The price of sending a prompt of `size` to the model with these `facts`.
    #[must_use]
    pub fn of(facts: Option<&ModelFacts>, size: PromptSize<'_>) -> Self {
        let Some(facts) = facts else { return Self::UNKNOWN };
        let prefix = size.prefix();
        let Some(prices) = facts.prices_at(prefix.saturating_add(size.tail)) else { return Self::UNKNOWN };
        let cached = cached_parts(facts, size);
        let cached_tokens = cached.iter().map(|part| part.tokens).sum::<usize>();
        let plain = prices.input.times((prefix - cached_tokens).saturating_add(size.tail));
        let written = cached.iter().map(|part| part.price(write_rate(facts.breakpoints, prices, part.ttl)));
        let read = cached.iter().map(|part| part.price(prices.cache_read));
        Self {
            cold: written.fold(Price::Known(plain), Price::add),
            warm: read.fold(Price::Known(plain), Price::add),
        }
    }
}

impl fmt::Display for TurnPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cold, {} warm", self.cold, self.warm)
    }
}

impl PromptSize<'_> {
    /// The tokens before the last breakpoint.
    fn prefix(&self) -> usize {
        self.breakpoints.iter().map(|breakpoint| breakpoint.tokens).max().unwrap_or(0)
    }
}

/// Tokens that are cached together.
struct CachedPart {
    tokens: usize,
    ttl: CacheTtl,
}

impl CachedPart {
    fn price(&self, rate: Option<Rate>) -> Price {
        rate.map(|rate| rate.times(self.tokens)).into()
    }
}

/// The parts of the prefix that the provider caches. A breakpoint below the model's minimum is ignored: its tokens
/// belong to the next breakpoint, or to plain input if there is none. An unknown minimum counts as 0.
fn cached_parts(facts: &ModelFacts, size: PromptSize<'_>) -> Vec<CachedPart> {
    let minimum = facts.min_cacheable.unwrap_or(0);
    let mut parts = Vec::new();
    let mut before = 0;
    if facts.breakpoints == Breakpoints::None {
        return parts;
    }
    for breakpoint in size.breakpoints {
        if breakpoint.tokens >= minimum && breakpoint.tokens > before {
            parts.push(CachedPart { tokens: breakpoint.tokens - before, ttl: breakpoint.ttl });
            before = breakpoint.tokens;
        }
    }
    parts
}

fn write_rate(breakpoints: Breakpoints, prices: &Prices, ttl: CacheTtl) -> Option<Rate> {
    match breakpoints {
        Breakpoints::Explicit => match ttl {
            CacheTtl::FiveMinutes => prices.cache_write_5m,
            CacheTtl::OneHour => prices.cache_write_1h,
        },
        // The provider decides on the retention; a write without its own price costs as much as input.
        Breakpoints::Automatic | Breakpoints::Either => Some(prices.cache_write_5m.unwrap_or(prices.input)),
        Breakpoints::None => Some(prices.input),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::models::ModelCatalog;
    use crate::money::Money;

    static CATALOG: LazyLock<ModelCatalog> = LazyLock::new(ModelCatalog::builtin);

    const FIVE: CacheTtl = CacheTtl::FiveMinutes;
    const HOUR: CacheTtl = CacheTtl::OneHour;

    fn check(model: &str, breakpoints: &[(usize, CacheTtl)], tail: usize, expected: &str) {
        let breakpoints: Vec<_> =
            breakpoints.iter().map(|&(tokens, ttl)| CacheBreakpoint { tokens, ttl }).collect();
        let price = TurnPrice::of(CATALOG.find(model), PromptSize { breakpoints: &breakpoints, tail });
        assert_eq!(price.to_string(), expected, "{model}");
    }

    #[test]
    fn cold_turn_writes_and_warm_turn_reads_the_prefix() {
        // 10,000 × 1.25 + 1,000 × 1 cold, 10,000 × 0.10 + 1,000 × 1 warm, in millionths of a dollar.
        check("anthropic/claude-haiku-4-5", &[(10_000, FIVE)], 1_000, "$0.0135 cold, $0.0020 warm");
    }

    #[test]
    fn prefix_parts_are_priced_by_their_ttl() {
        // 6,000 × 2 + 4,000 × 1.25 + 1,000 × 1 cold.
        check(
            "anthropic/claude-haiku-4-5",
            &[(6_000, HOUR), (10_000, FIVE)],
            1_000,
            "$0.0180 cold, $0.0020 warm",
        );
    }

    #[test]
    fn prefix_below_minimum_is_plain_input() {
        check("anthropic/claude-haiku-4-5", &[(4_095, FIVE)], 905, "$0.0050 cold, $0.0050 warm");
        check("anthropic/claude-haiku-4-5", &[(4_096, FIVE)], 904, "$0.0060 cold, $0.0013 warm");
    }

    #[test]
    fn breakpoint_below_minimum_joins_the_next() {
        // All 10,000 at the five-minute price: the one-hour breakpoint is below the minimum.
        check(
            "anthropic/claude-haiku-4-5",
            &[(1_000, HOUR), (10_000, FIVE)],
            1_000,
            "$0.0135 cold, $0.0020 warm",
        );
    }

    #[test]
    fn automatic_cache_write_defaults_to_the_input_price() {
        check("openai/gpt-4o", &[(10_000, HOUR)], 1_000, "$0.0275 cold, $0.0150 warm");
    }

    #[test]
    fn automatic_cache_writes_at_its_own_price() {
        check("openai/gpt-5.6", &[(10_000, FIVE)], 1_000, "$0.0540 cold, $0.0080 warm");
    }

    #[test]
    fn uncached_model_costs_the_same_warm_and_cold() {
        check("openai/gpt-4-turbo", &[(10_000, FIVE)], 1_000, "$0.1100 cold, $0.1100 warm");
    }

    #[test]
    fn offline_model_costs_zero() {
        check("offline/echo", &[(10_000, FIVE)], 1_000, "$0 cold, $0 warm");
    }

    #[test]
    fn unknown_model_has_an_unknown_price() {
        check("anthropic/claude-unheard-of", &[(10_000, FIVE)], 1_000, "unknown cold, unknown warm");
    }

    #[test]
    fn unknown_cache_price_affects_one_side() {
        let table = "- id: a/b\n  breakpoints: automatic\n  prices: {input: 1, output: 1}\n";
        let catalog = ModelCatalog::from_yaml(table).unwrap();
        let breakpoints = [CacheBreakpoint { tokens: 1_000, ttl: FIVE }];
        let price = TurnPrice::of(catalog.find("a/b"), PromptSize { breakpoints: &breakpoints, tail: 0 });
        assert_eq!(price.to_string(), "$0.0010 cold, unknown warm");
    }

    #[test]
    fn request_above_a_tier_is_priced_entirely_by_it() {
        // 100,001 × 0.5 (tier above 100,000) against 100,000 × 0.1.
        check("anthropic/claude-haiku-5-5", &[], 100_000, "$0.0100 cold, $0.0100 warm");
        check("anthropic/claude-haiku-5-5", &[], 100_001, "$0.0500 cold, $0.0500 warm");
    }

    #[test]
    fn turn_price_is_two_numbers_in_json() {
        let price =
            TurnPrice { cold: Price::Known(Money::from_picodollars(13_500_000_000)), warm: Price::Unknown };
        assert_eq!(serde_json::to_string(&price).unwrap(), r#"{"cold":0.0135,"warm":null}"#);
    }

    fn any_breakpoints() -> impl Strategy<Value = Vec<CacheBreakpoint>> {
        let breakpoint = (0..400_000_usize, prop_oneof![Just(FIVE), Just(HOUR)]);
        let breakpoint = breakpoint.prop_map(|(tokens, ttl)| CacheBreakpoint { tokens, ttl });
        proptest::collection::vec(breakpoint, 0..5)
    }

    proptest! {
        #[test]
        fn warm_never_costs_more_than_cold(
            breakpoints in any_breakpoints(), tail in 0..100_000_usize
        ) {
            for facts in CATALOG.iter() {
                let price = TurnPrice::of(Some(facts), PromptSize { breakpoints: &breakpoints, tail });
                let (cold, warm) = (price.cold.known(), price.warm.known());
                prop_assert!(warm.is_some() && warm <= cold, "{}: {price}", facts.id);
            }
        }

        #[test]
        fn unknown_price_is_never_shown_as_an_amount(breakpoints in any_breakpoints(), tail in 0..100_000_usize) {
            let price = TurnPrice::of(None, PromptSize { breakpoints: &breakpoints, tail });
            prop_assert!(!price.to_string().contains('$'));
        }
    }
}
