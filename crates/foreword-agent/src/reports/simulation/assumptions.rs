//! Lists the assumptions behind a simulated cost, so that readers can question the result.

use foreword_core::models::{Assumed, Breakpoints, ModelFacts};
use foreword_core::price::CacheTtl;
use foreword_core::simulate::{CacheLookup, Simulated};
use foreword_prompt::text::with_thousands;

use super::{Compared, SimulationParams};

pub(super) fn lines(params: &SimulationParams, comparisons: &[Compared]) -> Vec<String> {
    let mut lines: Vec<String> = comparisons.iter().map(prices).collect();
    lines.extend(comparisons.iter().map(cache));
    lines.extend(comparisons.iter().filter_map(assumed));
    lines.push(
        "A call and its tools take no time; whatever changes differs from its first token on; tools of servers are not \
         counted."
            .to_owned(),
    );
    lines.push(
        "The others get the cache marks that are cheapest for them, and the same summaries; injected whole means up to \
         20,000 characters a file, and no menu of memory."
            .to_owned(),
    );
    if params.edit_every.is_some() {
        let files = comparisons.first().map_or(0, |compared| compared.files);
        lines.push(match files {
            0 => "No layer of this prompt comes from a file, so nothing is edited.".to_owned(),
            _ => "An edit keeps a file's size; its files are edited one after the other.".to_owned(),
        });
    }
    lines.extend(comparisons.iter().filter_map(summaries));
    lines
}

fn prices(compared: &Compared) -> String {
    let facts = &compared.facts;
    let date = facts.date.as_deref().map(|date| format!("as of {date}"));
    let from = facts.source.as_deref().map(|source| format!("from {source}"));
    let said: Vec<String> = [date, from].into_iter().flatten().collect();
    let said = if said.is_empty() { "as `prices` in foreword.yaml says".to_owned() } else { said.join(", ") };
    format!("Prices of {}: {said}. Tokens are counted by {}.", facts.id, facts.tokenizer)
}

fn cache(compared: &Compared) -> String {
    let (facts, rules) = (&compared.facts, &compared.rules);
    let kept = rules.kept / 60;
    let minimum = with_thousands(rules.minimum);
    let how = match facts.breakpoints {
        Breakpoints::Explicit => format!(
            "reads what was marked, within 20 blocks before a mark, from {minimum} tokens on; kept for {kept} minutes \
             after its last use, or an hour if requested"
        ),
        Breakpoints::Either => format!(
            "reads what was marked, by the client or at the end of a request by the provider, from {minimum} tokens on; \
             kept for {kept} minutes after its last use ({}; --idle changes it)",
            retention(facts)
        ),
        Breakpoints::Automatic => format!(
            "reads {}, from {minimum} tokens on{}; kept for {kept} minutes after its last use ({}; --idle changes it)",
            match rules.finding {
                CacheLookup::AtTheEnd => "an earlier request as a whole",
                _ => "the longest start it has seen",
            },
            match rules.finding {
                CacheLookup::LongestPrefix { step, .. } => format!(" in steps of {step}"),
                _ => String::new(),
            },
            retention(facts)
        ),
        Breakpoints::None => "is not known to cache anything".to_owned(),
    };
    format!("{} {how}.", facts.id)
}

/// The provider's documented cache retention.
fn retention(facts: &ModelFacts) -> String {
    let retention = facts.retention(CacheTtl::FiveMinutes);
    if facts.assumed.contains(&Assumed::CacheRetention) || facts.cache_retention.is_none() {
        return "assumed: the provider states no time".to_owned();
    }
    match (retention.min_seconds, retention.max_seconds) {
        (0, None) => "assumed: the provider states no time".to_owned(),
        (min, None) => format!("the provider says at least {}", minutes(min)),
        (min, Some(max)) => format!("the provider says {} to {}", minutes(min), minutes(max)),
    }
}

fn minutes(seconds: u64) -> String {
    match seconds / 60 {
        minutes if minutes >= 120 && minutes % 60 == 0 => format!("{} hours", minutes / 60),
        minutes => format!("{minutes} minutes"),
    }
}

/// The note that a model's figures are taken from another model.
fn assumed(compared: &Compared) -> Option<String> {
    let from = compared.facts.assumed_from.as_ref()?;
    Some(format!(
        "Cache rules, window and prices of {} are assumed to be those of {from}.",
        compared.facts.id
    ))
}

fn summaries(compared: &Compared) -> Option<String> {
    let made = |simulated: &Simulated| simulated.costs.summaries > 0;
    let above = compared
        .scenario
        .compact_above
        .filter(|_| compared.strategies.iter().any(|(.., strategy)| made(strategy)))?;
    Some(format!(
        "With {}, a conversation above {} tokens is summed up in {} tokens.",
        compared.facts.id,
        with_thousands(above),
        with_thousands(compared.scenario.summary),
    ))
}
