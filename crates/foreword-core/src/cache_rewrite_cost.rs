//! The cost of changing a conversation's frozen prompt: everything after the first changed byte is written to the
//! provider's cache again, the history included.

use std::time::Duration;

use crate::models::ModelFacts;
use crate::money::{Money, Price};
use crate::price::CacheTtl;
use crate::simulate::{CacheLookup, CacheModel};

/// A cache breakpoint in a frozen text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CachedPrefix {
    /// The byte offset.
    pub at: usize,
    /// All tokens before it.
    pub tokens: u64,
    /// The time to live.
    pub ttl: CacheTtl,
}

/// A live conversation and its next prompt. A request consists of the tools, the frozen text and the history, in this
/// order.
#[derive(Debug, Clone, Copy)]
pub struct LiveConversation<'a> {
    /// The size of the tool definitions.
    pub tools_tokens: u64,
    /// The current frozen text.
    pub frozen: &'a str,
    /// Its size.
    pub frozen_tokens: u64,
    /// The breakpoints in it, in order.
    pub marks: &'a [CachedPrefix],
    /// The next frozen text.
    pub next: &'a str,
    /// The size of the history.
    pub history_tokens: u64,
    /// The time since the last message.
    pub idle: Duration,
}

impl LiveConversation<'_> {
    /// The size of a request.
    fn tokens(&self) -> u64 {
        self.tools_tokens + self.frozen_tokens + self.history_tokens
    }
}

/// The effect of a changed prompt on a conversation's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RewriteCost {
    /// Tokens of the frozen text that stay cached: up to the last breakpoint before the first changed byte, or up to
    /// that byte in whole steps for automatic caches.
    pub kept_tokens: u64,
    /// The tokens after that with the history; and the tools, if no breakpoint after them is left.
    pub rewritten_tokens: u64,
    /// How many of those are likely in the cache now.
    pub warm_tokens: u64,
    /// The extra cost of writing those instead of reading them.
    pub cost: Price,
}

impl RewriteCost {
    /// Whether likely cached tokens are lost.
    #[must_use]
    pub fn is_warm(&self) -> bool {
        self.warm_tokens > 0
    }
}

/// The effect of the changed prompt on the cache of `live`; `None` if the prompt is unchanged.
///
/// ```
/// use std::time::Duration;
/// use foreword_core::price::CacheTtl;
/// use foreword_core::cache_rewrite_cost::{CachedPrefix, LiveConversation, rewrite_cost};
///
/// let ttl = CacheTtl::FiveMinutes;
/// let marks = [CachedPrefix { at: 14, tokens: 3_000, ttl }, CachedPrefix { at: 26, tokens: 5_000, ttl }];
/// let live = LiveConversation {
///     frozen: "You are kind. Be brief now", next: "You are kind. Take time", marks: &marks,
///     tools_tokens: 0, frozen_tokens: 5_000, history_tokens: 700, idle: Duration::from_secs(60),
/// };
/// let found = rewrite_cost(&live, None).unwrap();
/// assert_eq!((found.kept_tokens, found.rewritten_tokens), (3_000, 2_700));
/// assert!(rewrite_cost(&LiveConversation { next: live.frozen, ..live }, None).is_none());
/// ```
#[must_use]
pub fn rewrite_cost(live: &LiveConversation<'_>, facts: Option<&ModelFacts>) -> Option<RewriteCost> {
    if live.frozen == live.next {
        return None;
    }
    let same = live.frozen.bytes().zip(live.next.bytes()).take_while(|(one, other)| one == other).count();
    let (kept_tokens, rewritten) = match facts.map(|facts| (facts, CacheModel::of(facts, None).finding)) {
        Some((facts, CacheLookup::LongestPrefix { step, .. })) => in_steps(live, facts, same, step as u64),
        Some((
            _,
            CacheLookup::AtMarks { .. }
            | CacheLookup::AtMarksAndTheEnd { .. }
            | CacheLookup::AtTheEnd
            | CacheLookup::Nothing,
        ))
        | None => at_marks(live, same),
    };
    let rewritten_tokens = tokens_of(&rewritten);
    let warm = facts.map_or_else(Vec::new, |facts| warm(live, facts, rewritten));
    let warm_tokens = tokens_of(&warm);
    let cost = match facts {
        Some(facts) if warm_tokens > 0 => surcharge(facts, live, &warm),
        // Expired tokens are written again in any case.
        Some(facts) if facts.prices.is_some() => Price::Known(Money::ZERO),
        _ => Price::Unknown,
    };
    Some(RewriteCost { kept_tokens, rewritten_tokens, warm_tokens, cost })
}

/// Consecutive tokens with the same time to live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    tokens: u64,
    ttl: CacheTtl,
}

fn tokens_of(stretches: &[Stretch]) -> u64 {
    stretches.iter().map(|stretch| stretch.tokens).sum()
}

/// The cached and the invalidated tokens for explicit breakpoints: one span up to each later breakpoint, and one from
/// the last breakpoint to the end of the history.
fn at_marks(live: &LiveConversation<'_>, same: usize) -> (u64, Vec<Stretch>) {
    let kept = live.marks.iter().rev().find(|mark| mark.at <= same).map(|mark| mark.tokens);
    let (mut before, mut tools) = (kept.unwrap_or(0), if kept.is_none() { live.tools_tokens } else { 0 });
    let mut rewritten = Vec::new();
    for mark in live.marks.iter().filter(|mark| mark.at > same) {
        rewritten.push(Stretch { tokens: tools + mark.tokens.saturating_sub(before), ttl: mark.ttl });
        (before, tools) = (mark.tokens.max(before), 0);
    }
    let rest = tools + live.frozen_tokens.saturating_sub(before) + live.history_tokens;
    rewritten.push(Stretch { tokens: rest, ttl: CacheTtl::FiveMinutes });
    (kept.unwrap_or(0), rewritten)
}

/// The same for automatic caches, which match the longest prefix in whole steps.
fn in_steps(live: &LiveConversation<'_>, facts: &ModelFacts, same: usize, step: u64) -> (u64, Vec<Stretch>) {
    let end = live.frozen.floor_char_boundary(same);
    let unchanged = facts.tokenizer.get().count(&live.frozen[..end]) as u64;
    let found = (live.tools_tokens + unchanged.min(live.frozen_tokens)) / step.max(1) * step.max(1);
    let behind = (live.tools_tokens + live.frozen_tokens).saturating_sub(found);
    let rewritten = Stretch { tokens: behind + live.history_tokens, ttl: CacheTtl::FiveMinutes };
    (found.saturating_sub(live.tools_tokens), vec![rewritten])
}

/// The spans that the provider still has in its cache.
fn warm(live: &LiveConversation<'_>, facts: &ModelFacts, mut rewritten: Vec<Stretch>) -> Vec<Stretch> {
    let rules = CacheModel::of(facts, None);
    // Below the minimum cacheable size nothing is cached.
    if rules.finding == CacheLookup::Nothing || live.tokens() < rules.minimum as u64 {
        return Vec::new();
    }
    rewritten.retain(|stretch| live.idle < Duration::from_secs(rules.cache_seconds(stretch.ttl)));
    rewritten
}

fn surcharge(facts: &ModelFacts, live: &LiveConversation<'_>, warm: &[Stretch]) -> Price {
    let whole = usize::try_from(live.tokens()).unwrap_or(usize::MAX);
    let Some(prices) = facts.prices_at(whole) else { return Price::Unknown };
    let Some(read) = prices.cache_read else { return Price::Unknown };
    let of_one = |stretch: &Stretch| {
        let for_an_hour = prices.cache_write_1h.filter(|_| stretch.ttl == CacheTtl::OneHour);
        let write = for_an_hour.or(prices.cache_write_5m).unwrap_or(prices.input);
        let tokens = usize::try_from(stretch.tokens).unwrap_or(usize::MAX);
        write.times(tokens).picodollars().saturating_sub(read.times(tokens).picodollars())
    };
    Price::Known(Money::from_picodollars(warm.iter().map(of_one).sum()))
}

/// The total over several conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TotalRewriteCost {
    /// The number of changed conversations.
    pub affected: u64,
    /// Tokens that are likely cached now and will be written again.
    pub cached_tokens: u64,
    /// The cost, as far as it is known.
    pub cost: Money,
    /// The number of conversations with an unknown price.
    pub unpriced: u64,
}

impl TotalRewriteCost {
    /// The sum of all of them.
    pub fn of<'a>(all: impl IntoIterator<Item = &'a RewriteCost>) -> Self {
        let mut loss = Self::default();
        for one in all {
            loss.affected += 1;
            loss.cached_tokens += one.warm_tokens;
            match one.cost {
                Price::Known(cost) => loss.cost = loss.cost + cost,
                Price::Unknown => loss.unpriced += 1,
            }
        }
        loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ModelCatalog;

    const MINUTE: Duration = Duration::from_secs(60);
    const MARKS: [CachedPrefix; 2] = marks([CacheTtl::FiveMinutes; 2]);
    const LIVE: LiveConversation<'_> = LiveConversation {
        tools_tokens: 0,
        frozen: "aaaabbbb",
        frozen_tokens: 6_000,
        marks: &MARKS,
        next: "aaaabbbc",
        history_tokens: 4_000,
        idle: MINUTE,
    };

    const fn marks([one, other]: [CacheTtl; 2]) -> [CachedPrefix; 2] {
        [CachedPrefix { at: 4, tokens: 2_000, ttl: one }, CachedPrefix { at: 8, tokens: 6_000, ttl: other }]
    }

    fn sonnet() -> ModelFacts {
        ModelCatalog::builtin().find("anthropic/claude-sonnet-4-5").unwrap().clone()
    }

    fn check(next: &str, kept: u64, rewritten: u64) {
        let found = rewrite_cost(&LiveConversation { next, ..LIVE }, None).unwrap();
        assert_eq!((found.kept_tokens, found.rewritten_tokens), (kept, rewritten), "{next}");
        assert_eq!((found.warm_tokens, found.cost), (0, Price::Unknown));
    }

    #[test]
    fn kept_tokens_end_at_the_last_breakpoint() {
        check("baaabbbb", 0, 10_000);
        check("aaab", 0, 10_000);
        check("aaaa", 2_000, 8_000);
        check("aaaabbbc", 2_000, 8_000);
        // Text appended to the frozen text invalidates the history.
        check("aaaabbbbc", 6_000, 4_000);
        check("", 0, 10_000);
    }

    #[test]
    fn tools_stay_cached_without_explicit_breakpoints() {
        let live = LiveConversation { tools_tokens: 500, next: "x", ..LIVE };
        let rewritten = |live: &LiveConversation<'_>, facts: &ModelFacts| {
            let found = rewrite_cost(live, Some(facts)).unwrap();
            (found.kept_tokens, found.rewritten_tokens)
        };
        assert_eq!(rewritten(&live, &sonnet()), (0, 10_500));
        assert_eq!(rewritten(&LiveConversation { next: "aaaa", ..live }, &sonnet()), (2_000, 8_000));
        let automatic = ModelCatalog::builtin().find("openai/gpt-4o").unwrap().clone();
        // 500 tokens are three steps of 128, and 116 more.
        assert_eq!(rewritten(&live, &automatic), (0, 10_116));
        let text = "word ".repeat(1_000);
        let (frozen, next) = (format!("{text} one"), format!("{text} two"));
        let long =
            LiveConversation { frozen: &frozen, next: &next, frozen_tokens: 1_001, marks: &[], ..live };
        let (kept, rewritten) = rewritten(&long, &automatic);
        assert_eq!((500 + kept) % 128, 0);
        assert!(kept > 800 && kept + rewritten == 1_001 + 4_000, "{kept} {rewritten}");
    }

    #[test]
    fn unchanged_prompt_costs_nothing() {
        assert_eq!(rewrite_cost(&LiveConversation { next: LIVE.frozen, ..LIVE }, Some(&sonnet())), None);
    }

    #[test]
    fn only_unexpired_tokens_are_lost() {
        use CacheTtl::{FiveMinutes, OneHour};
        let cases = [
            (MINUTE, [FiveMinutes; 2], "aaaabbbc", 8_000),
            (MINUTE * 5, [FiveMinutes; 2], "aaaabbbc", 0),
            // The history and a conversation's own layers are never kept for an hour.
            (MINUTE * 5, [OneHour; 2], "aaaabbbc", 4_000),
            (MINUTE * 5, [OneHour, FiveMinutes], "aaaabbbc", 0),
            (MINUTE * 5, [OneHour, FiveMinutes], "b", 2_500),
            (MINUTE, [OneHour, FiveMinutes], "b", 10_500),
            (MINUTE * 60, [OneHour; 2], "aaaabbbc", 0),
        ];
        for (idle, ttls, next, warm) in cases {
            let live = LiveConversation { idle, next, tools_tokens: 500, marks: &marks(ttls), ..LIVE };
            let found = rewrite_cost(&live, Some(&sonnet())).unwrap();
            assert_eq!((found.warm_tokens, found.is_warm()), (warm, warm > 0), "{idle:?} {ttls:?}");
            assert_eq!(found.cost == Price::Known(Money::ZERO), warm == 0);
        }
        let small = LiveConversation { frozen_tokens: 500, history_tokens: 100, marks: &[], ..LIVE };
        assert_eq!(rewrite_cost(&small, Some(&sonnet())).unwrap().warm_tokens, 0);
    }

    #[test]
    fn one_hour_prices_exclude_the_history() {
        let facts = sonnet();
        let prices = facts.prices_at(10_000).unwrap();
        let shared = marks([CacheTtl::OneHour, CacheTtl::FiveMinutes]);
        let found =
            rewrite_cost(&LiveConversation { next: "b", marks: &shared, ..LIVE }, Some(&facts)).unwrap();
        let written = prices.cache_write_1h.unwrap().times(2_000).picodollars()
            + prices.cache_write_5m.unwrap().times(8_000).picodollars();
        let read = prices.cache_read.unwrap().times(10_000).picodollars();
        assert_eq!(found.cost, Price::Known(Money::from_picodollars(written - read)));
    }

    #[test]
    fn cost_is_write_price_minus_read_price() {
        let facts = sonnet();
        let prices = facts.prices_at(10_000).unwrap();
        let found = rewrite_cost(&LIVE, Some(&facts)).unwrap();
        let difference = prices.cache_write_5m.unwrap().times(8_000).picodollars()
            - prices.cache_read.unwrap().times(8_000).picodollars();
        assert_eq!(found.cost, Price::Known(Money::from_picodollars(difference)));
        let unpriced = ModelFacts { prices: None, ..facts };
        let found = rewrite_cost(&LIVE, Some(&unpriced)).unwrap();
        assert_eq!((found.warm_tokens, found.cost), (8_000, Price::Unknown));
    }

    #[test]
    fn unknown_costs_are_counted_separately() {
        let priced = rewrite_cost(&LIVE, Some(&sonnet())).unwrap();
        let unknown = RewriteCost { cost: Price::Unknown, ..priced };
        let loss = TotalRewriteCost::of(&[priced, unknown, priced]);
        assert_eq!((loss.affected, loss.cached_tokens, loss.unpriced), (3, 24_000, 1));
        assert_eq!(loss.cost.picodollars(), 2 * priced.cost.known().unwrap().picodollars());
    }
}
