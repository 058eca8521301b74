//! What it costs that a conversation's frozen prompt is going to read differently: everything from the first changed byte on is
//! written to the provider's cache anew, the history included. Compares and multiplies; who is asked about, others say.

use std::time::Duration;

use crate::models::ModelFacts;
use crate::money::{Money, Price};
use crate::price::CacheTtl;
use crate::simulate::{CacheRules, Finding};

/// A place of a frozen text behind which the provider keeps everything up to there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptUpTo {
    /// The byte.
    pub at: usize,
    /// All tokens before it.
    pub tokens: u64,
    /// For how long.
    pub ttl: CacheTtl,
}

/// A conversation that goes on, and what its prompt is to become. A request has its tools first, then this text, then what was
/// said.
#[derive(Debug, Clone, Copy)]
pub struct Live<'a> {
    /// What the definitions of its tools weigh.
    pub tools_tokens: u64,
    /// The frozen text it has.
    pub frozen: &'a str,
    /// What that weighs.
    pub frozen_tokens: u64,
    /// Where the provider was asked to keep it, in order.
    pub marks: &'a [KeptUpTo],
    /// The frozen text it is to get.
    pub next: &'a str,
    /// What was said since, in tokens.
    pub history_tokens: u64,
    /// For how long nothing has been said.
    pub idle: Duration,
}

impl Live<'_> {
    /// What a request weighs.
    fn tokens(&self) -> u64 {
        self.tools_tokens + self.frozen_tokens + self.history_tokens
    }
}

/// What becomes of a conversation's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rewritten {
    /// Tokens of the frozen text that the provider goes on finding: up to the last mark before the first changed byte, or up to
    /// that byte in whole steps where it needs no marks.
    pub kept_tokens: u64,
    /// Tokens behind that, with the history; and the tools, if no mark is left that they stand before.
    pub touched_tokens: u64,
    /// Of those, how many the provider likely has in its cache now.
    pub warm_tokens: u64,
    /// What it costs more to write those anew than to read them.
    pub cost: Price,
}

impl Rewritten {
    /// Whether the provider likely has something in its cache that is lost.
    #[must_use]
    pub fn is_warm(&self) -> bool {
        self.warm_tokens > 0
    }
}

/// What becomes of the cache of `live` with a model of which `facts` are known; nothing, if its prompt stays what it is.
///
/// ```
/// use std::time::Duration;
/// use foreword_core::price::CacheTtl;
/// use foreword_core::rewriting::{KeptUpTo, Live, rewritten};
///
/// let ttl = CacheTtl::FiveMinutes;
/// let marks = [KeptUpTo { at: 14, tokens: 3_000, ttl }, KeptUpTo { at: 26, tokens: 5_000, ttl }];
/// let live = Live {
///     frozen: "You are kind. Be brief now", next: "You are kind. Take time", marks: &marks,
///     tools_tokens: 0, frozen_tokens: 5_000, history_tokens: 700, idle: Duration::from_secs(60),
/// };
/// let found = rewritten(&live, None).unwrap();
/// assert_eq!((found.kept_tokens, found.touched_tokens), (3_000, 2_700));
/// assert!(rewritten(&Live { next: live.frozen, ..live }, None).is_none());
/// ```
#[must_use]
pub fn rewritten(live: &Live<'_>, facts: Option<&ModelFacts>) -> Option<Rewritten> {
    if live.frozen == live.next {
        return None;
    }
    let same = live.frozen.bytes().zip(live.next.bytes()).take_while(|(one, other)| one == other).count();
    let (kept_tokens, touched) = match facts.map(|facts| (facts, CacheRules::of(facts, None).finding)) {
        Some((facts, Finding::LongestPrefix { step, .. })) => in_steps(live, facts, same, step as u64),
        Some((
            _,
            Finding::AtMarks { .. } | Finding::AtMarksAndTheEnd { .. } | Finding::AtTheEnd | Finding::Nothing,
        ))
        | None => at_marks(live, same),
    };
    let touched_tokens = tokens_of(&touched);
    let warm = facts.map_or_else(Vec::new, |facts| warm(live, facts, touched));
    let warm_tokens = tokens_of(&warm);
    let cost = match facts {
        Some(facts) if warm_tokens > 0 => surcharge(facts, live, &warm),
        // What is not in the cache any more is written anew whatever it says.
        Some(facts) if facts.prices.is_some() => Price::Known(Money::ZERO),
        _ => Price::Unknown,
    };
    Some(Rewritten { kept_tokens, touched_tokens, warm_tokens, cost })
}

/// Tokens in a row that the provider keeps for the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    tokens: u64,
    ttl: CacheTtl,
}

fn tokens_of(stretches: &[Stretch]) -> u64 {
    stretches.iter().map(|stretch| stretch.tokens).sum()
}

/// How much of the frozen text stays where only marks are found, and what is touched: up to each further mark, and from the last
/// one to the end of what was said, where the next mark is.
fn at_marks(live: &Live<'_>, same: usize) -> (u64, Vec<Stretch>) {
    let kept = live.marks.iter().rev().find(|mark| mark.at <= same).map(|mark| mark.tokens);
    let (mut before, mut tools) = (kept.unwrap_or(0), if kept.is_none() { live.tools_tokens } else { 0 });
    let mut touched = Vec::new();
    for mark in live.marks.iter().filter(|mark| mark.at > same) {
        touched.push(Stretch { tokens: tools + mark.tokens.saturating_sub(before), ttl: mark.ttl });
        (before, tools) = (mark.tokens.max(before), 0);
    }
    let rest = tools + live.frozen_tokens.saturating_sub(before) + live.history_tokens;
    touched.push(Stretch { tokens: rest, ttl: CacheTtl::FiveMinutes });
    (kept.unwrap_or(0), touched)
}

/// The same where the longest beginning is found, in whole steps, and nobody is asked for how long.
fn in_steps(live: &Live<'_>, facts: &ModelFacts, same: usize, step: u64) -> (u64, Vec<Stretch>) {
    let end = live.frozen.floor_char_boundary(same);
    let unchanged = facts.tokenizer.get().count(&live.frozen[..end]) as u64;
    let found = (live.tools_tokens + unchanged.min(live.frozen_tokens)) / step.max(1) * step.max(1);
    let behind = (live.tools_tokens + live.frozen_tokens).saturating_sub(found);
    let touched = Stretch { tokens: behind + live.history_tokens, ttl: CacheTtl::FiveMinutes };
    (found.saturating_sub(live.tools_tokens), vec![touched])
}

/// What of it the provider still has.
fn warm(live: &Live<'_>, facts: &ModelFacts, mut touched: Vec<Stretch>) -> Vec<Stretch> {
    let rules = CacheRules::of(facts, None);
    // Nothing smaller than the provider keeps at all.
    if rules.finding == Finding::Nothing || live.tokens() < rules.minimum as u64 {
        return Vec::new();
    }
    touched.retain(|stretch| live.idle < Duration::from_secs(rules.kept(stretch.ttl)));
    touched
}

fn surcharge(facts: &ModelFacts, live: &Live<'_>, warm: &[Stretch]) -> Price {
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

/// What some conversations lose together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// How many read differently.
    pub touched: u64,
    /// Tokens that are likely in a cache now and have to be written anew.
    pub cached_tokens: u64,
    /// What that costs, as far as it is known.
    pub cost: Money,
    /// Conversations whose price is not known.
    pub unpriced: u64,
}

impl Loss {
    /// The sum of all of them.
    pub fn of<'a>(all: impl IntoIterator<Item = &'a Rewritten>) -> Self {
        let mut loss = Self::default();
        for one in all {
            loss.touched += 1;
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
    const MARKS: [KeptUpTo; 2] = marks([CacheTtl::FiveMinutes; 2]);
    const LIVE: Live<'_> = Live {
        tools_tokens: 0,
        frozen: "aaaabbbb",
        frozen_tokens: 6_000,
        marks: &MARKS,
        next: "aaaabbbc",
        history_tokens: 4_000,
        idle: MINUTE,
    };

    const fn marks([one, other]: [CacheTtl; 2]) -> [KeptUpTo; 2] {
        [KeptUpTo { at: 4, tokens: 2_000, ttl: one }, KeptUpTo { at: 8, tokens: 6_000, ttl: other }]
    }

    fn sonnet() -> ModelFacts {
        ModelCatalog::builtin().find("anthropic/claude-sonnet-4-5").unwrap().clone()
    }

    fn check(next: &str, (kept, touched): (u64, u64)) {
        let found = rewritten(&Live { next, ..LIVE }, None).unwrap();
        assert_eq!((found.kept_tokens, found.touched_tokens), (kept, touched), "{next}");
        assert_eq!((found.warm_tokens, found.cost), (0, Price::Unknown));
    }

    #[test]
    fn what_stays_is_counted_up_to_the_last_place_that_is_kept() {
        check("baaabbbb", (0, 10_000));
        check("aaab", (0, 10_000));
        check("aaaa", (2_000, 8_000));
        check("aaaabbbc", (2_000, 8_000));
        // What comes behind the frozen text moves the history away.
        check("aaaabbbbc", (6_000, 4_000));
        check("", (0, 10_000));
    }

    #[test]
    fn tools_are_lost_with_the_last_mark_and_kept_where_none_is_needed() {
        let live = Live { tools_tokens: 500, next: "x", ..LIVE };
        let touched = |live: &Live<'_>, facts: &ModelFacts| {
            let found = rewritten(live, Some(facts)).unwrap();
            (found.kept_tokens, found.touched_tokens)
        };
        assert_eq!(touched(&live, &sonnet()), (0, 10_500));
        assert_eq!(touched(&Live { next: "aaaa", ..live }, &sonnet()), (2_000, 8_000));
        let automatic = ModelCatalog::builtin().find("openai/gpt-4o").unwrap().clone();
        // 500 tokens are three steps of 128, and 116 more.
        assert_eq!(touched(&live, &automatic), (0, 10_116));
        let text = "word ".repeat(1_000);
        let (frozen, next) = (format!("{text} one"), format!("{text} two"));
        let long = Live { frozen: &frozen, next: &next, frozen_tokens: 1_001, marks: &[], ..live };
        let (kept, touched) = touched(&long, &automatic);
        assert_eq!((500 + kept) % 128, 0);
        assert!(kept > 800 && kept + touched == 1_001 + 4_000, "{kept} {touched}");
    }

    #[test]
    fn a_prompt_that_reads_the_same_loses_nothing() {
        assert_eq!(rewritten(&Live { next: LIVE.frozen, ..LIVE }, Some(&sonnet())), None);
    }

    #[test]
    fn only_what_is_still_in_the_cache_is_lost() {
        use CacheTtl::{FiveMinutes, OneHour};
        let cases = [
            (MINUTE, [FiveMinutes; 2], "aaaabbbc", 8_000),
            (MINUTE * 5, [FiveMinutes; 2], "aaaabbbc", 0),
            // What was said is never kept for an hour, nor is what belongs to one conversation.
            (MINUTE * 5, [OneHour; 2], "aaaabbbc", 4_000),
            (MINUTE * 5, [OneHour, FiveMinutes], "aaaabbbc", 0),
            (MINUTE * 5, [OneHour, FiveMinutes], "b", 2_500),
            (MINUTE, [OneHour, FiveMinutes], "b", 10_500),
            (MINUTE * 60, [OneHour; 2], "aaaabbbc", 0),
        ];
        for (idle, ttls, next, warm) in cases {
            let live = Live { idle, next, tools_tokens: 500, marks: &marks(ttls), ..LIVE };
            let found = rewritten(&live, Some(&sonnet())).unwrap();
            assert_eq!((found.warm_tokens, found.is_warm()), (warm, warm > 0), "{idle:?} {ttls:?}");
            assert_eq!(found.cost == Price::Known(Money::ZERO), warm == 0);
        }
        let small = Live { frozen_tokens: 500, history_tokens: 100, marks: &[], ..LIVE };
        assert_eq!(rewritten(&small, Some(&sonnet())).unwrap().warm_tokens, 0);
    }

    #[test]
    fn what_is_kept_for_an_hour_is_dearer_to_write_and_what_was_said_is_not() {
        let facts = sonnet();
        let prices = facts.prices_at(10_000).unwrap();
        let shared = marks([CacheTtl::OneHour, CacheTtl::FiveMinutes]);
        let found = rewritten(&Live { next: "b", marks: &shared, ..LIVE }, Some(&facts)).unwrap();
        let written = prices.cache_write_1h.unwrap().times(2_000).picodollars()
            + prices.cache_write_5m.unwrap().times(8_000).picodollars();
        let read = prices.cache_read.unwrap().times(10_000).picodollars();
        assert_eq!(found.cost, Price::Known(Money::from_picodollars(written - read)));
    }

    #[test]
    fn the_cost_is_what_writing_is_dearer_than_reading() {
        let facts = sonnet();
        let prices = facts.prices_at(10_000).unwrap();
        let found = rewritten(&LIVE, Some(&facts)).unwrap();
        let difference = prices.cache_write_5m.unwrap().times(8_000).picodollars()
            - prices.cache_read.unwrap().times(8_000).picodollars();
        assert_eq!(found.cost, Price::Known(Money::from_picodollars(difference)));
        let unpriced = ModelFacts { prices: None, ..facts };
        let found = rewritten(&LIVE, Some(&unpriced)).unwrap();
        assert_eq!((found.warm_tokens, found.cost), (8_000, Price::Unknown));
    }

    #[test]
    fn losses_are_summed_up_as_far_as_they_are_known() {
        let priced = rewritten(&LIVE, Some(&sonnet())).unwrap();
        let unknown = Rewritten { cost: Price::Unknown, ..priced };
        let loss = Loss::of(&[priced, unknown, priced]);
        assert_eq!((loss.touched, loss.cached_tokens, loss.unpriced), (3, 24_000, 1));
        assert_eq!(loss.cost.picodollars(), 2 * priced.cost.known().unwrap().picodollars());
    }
}
