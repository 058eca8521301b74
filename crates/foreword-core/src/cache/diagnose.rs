//! Diagnoses cache misses. Checks conditions that need no comparison first, then compares the requests. Reports a miss
//! only if less was read than the previous request had left in the cache.

use super::attribute::{Attributed, attribute};
use super::cause::Cause;
use super::compare::{Difference, Divergence, ToolChanges, compare_first};
use super::diagnosis::{CacheVerdict, Diagnosis, DivergencePoint};
use super::evidence::{Evidence, Previous, PreviousRequest};
use super::readable::{Readable, read};
use super::rules::Expiry;
use super::shape::RequestShape;
use crate::message::Usage;
use crate::models::{Breakpoints, ModelFacts};
use crate::money::{Money, Price};
use crate::price::cost_within;

const NOT_REPORTED: &str = "how much was read: the provider did not report cache numbers";

/// Finds out why the request read less from the cache than it could.
#[must_use]
pub fn diagnose(evidence: &Evidence<'_>) -> Diagnosis {
    let mut finding = match evidence.previous {
        Previous::First => first(evidence),
        Previous::NotSeen => not_seen(evidence),
        Previous::Seen(seen) if seen.shape.key_id != evidence.current.key_id => not_seen(evidence),
        Previous::Seen(seen) => compared(evidence, seen),
    };
    if evidence.reported.cache().is_none() {
        finding.unknown.push(NOT_REPORTED.to_owned());
    }
    finding.note_provider(evidence.provider_reason);
    finding.note_assumed(evidence);
    finding.priced(evidence)
}

/// The diagnosis before costs are computed.
#[derive(Default)]
struct Finding {
    cause: Option<Cause>,
    place: Option<DivergencePoint>,
    /// How many tokens could have been read.
    readable: u64,
    /// Whether the previous request is unknown.
    unseen: bool,
    /// Whether the tokens were never written to the cache, because there was no breakpoint.
    never_written: bool,
    also: Vec<String>,
    unknown: Vec<String>,
    /// The assumed rules that the cause depends on, by their field names in the data.
    assumed: Vec<&'static str>,
}

impl Finding {
    fn of(cause: Cause, readable: u64) -> Self {
        Self { cause: Some(cause), readable, ..Self::default() }
    }
}

fn first(evidence: &Evidence<'_>) -> Finding {
    match read(&evidence.reported) {
        // Other conversations with the same prefix left it in the cache.
        Some(read) if read > 0 => Finding { readable: read, ..Finding::default() },
        _ => Finding::of(Cause::FirstRequest, 0),
    }
}

/// A diagnosis from the request alone and the provider's reason.
fn not_seen(evidence: &Evidence<'_>) -> Finding {
    if let Some(cause) = breakpoint_fault(evidence, evidence.current, evidence.size()) {
        return Finding { unseen: true, ..Finding::of(cause, 0) };
    }
    if let Some(read) = read(&evidence.reported).filter(|read| *read > 0) {
        let unknown = vec!["whether more might have been read: the previous request was not seen".to_owned()];
        return Finding { readable: read, unknown, ..Finding::default() };
    }
    let named = evidence.provider_reason.and_then(|reason| cause_from_provider(evidence, reason));
    let mut finding = Finding { unseen: true, ..Finding::of(named.unwrap_or(Cause::Unknown), 0) };
    finding.unknown.push("where the prefix diverged: the previous request was not seen".to_owned());
    finding
}

/// The cause for a reason reported by the provider.
fn cause_from_provider(evidence: &Evidence<'_>, reason: &str) -> Option<Cause> {
    match reason {
        "model_changed" => {
            Some(Cause::ModelChanged { from: "another".to_owned(), to: evidence.current.model.clone() })
        }
        "tools_changed" => Some(Cause::ToolsChanged(ToolChanges::default())),
        "system_changed" => Some(Cause::SystemChanged(super::compare::SectionChange::Changed)),
        "messages_changed" => Some(Cause::HistoryRewritten { trimmed: false }),
        _ => None,
    }
}

fn compared(evidence: &Evidence<'_>, seen: PreviousRequest<'_>) -> Finding {
    let readable = Readable::of(evidence, seen);
    let read = read(&evidence.reported);
    if read.is_some_and(|read| read > 0 && readable.tokens > 0 && readable.is_all(read, readable.tokens)) {
        return Finding { readable: read.unwrap_or(0), ..Finding::default() };
    }
    let same_model = is_same_model(evidence.facts, seen.shape, evidence.current);
    let size_before = match seen.reported.map_or(0, |reported| reported.whole()) {
        0 => readable.scaled(seen.shape.tokens()),
        whole => whole,
    };
    if let Some(fault) = breakpoint_fault(evidence, seen.shape, size_before)
        .or_else(|| breakpoint_fault(evidence, evidence.current, evidence.size()))
    {
        let all = compare_first(seen.shape, evidence.current, seen.shape.sections.len(), same_model);
        if let Cause::BelowMinimum { .. } = fault {
            return Finding::of(fault, 0);
        }
        // Without a breakpoint the previous request wrote nothing.
        let never_written = evidence.rules.breakpoints == Breakpoints::Explicit && !seen.shape.is_marked();
        return Finding { never_written, ..Finding::of(fault, readable.scaled(shared_tokens(&all))) };
    }
    if let Some(finding) = nothing_left(&readable) {
        return finding;
    }
    match compare_first(seen.shape, evidence.current, readable.sections, same_model) {
        Divergence::At(difference) => diverged(evidence, seen, &readable, &difference),
        Divergence::None { .. } | Divergence::Incomparable => {
            let mut finding = Finding::of(stable(evidence, &readable), readable.tokens);
            finding.note_stable(evidence, seen);
            finding
        }
    }
}

/// The previous request left nothing in the cache: it was too small, or the reason is unknown.
fn nothing_left(readable: &Readable<'_>) -> Option<Finding> {
    let is_exact = readable.exact && readable.tokens > 0;
    let size = if is_exact { readable.tokens } else { readable.estimate };
    if let Some(minimum) = readable.minimum().filter(|minimum| size < *minimum as u64) {
        let mut finding = Finding::of(Cause::BelowMinimum { minimum }, 0);
        if !is_exact && size * 10 > minimum as u64 * 9 {
            finding.unknown.push("whether it is really below: the size is an estimate".to_owned());
        }
        return Some(finding);
    }
    (readable.tokens == 0).then(|| {
        let mut finding = Finding::of(Cause::Unknown, 0);
        finding.unknown.push("why the provider cached nothing of the previous request".to_owned());
        finding
    })
}

fn shared_tokens(divergence: &Divergence) -> usize {
    match divergence {
        Divergence::None { shared_tokens } => *shared_tokens,
        Divergence::At(difference) => difference.shared_tokens,
        Divergence::Incomparable => 0,
    }
}

/// The fault in the breakpoints of a request of `size` tokens, if any.
fn breakpoint_fault(evidence: &Evidence<'_>, shape: &RequestShape, size: u64) -> Option<Cause> {
    let found = shape.breakpoints().count();
    if let Some(most) = evidence.rules.max_breakpoints.filter(|most| found > *most) {
        return Some(Cause::TooManyBreakpoints { found, most });
    }
    if found > 0 || evidence.rules.breakpoints != Breakpoints::Explicit {
        return None;
    }
    // A breakpoint would not have helped a request below the minimum.
    let minimum = evidence.minimum().filter(|minimum| size < *minimum as u64);
    Some(minimum.map_or(Cause::NoBreakpoint, |minimum| Cause::BelowMinimum { minimum }))
}

/// Whether both names refer to one model.
fn is_same_model(facts: Option<&ModelFacts>, previous: &RequestShape, current: &RequestShape) -> bool {
    let is_named = |name: &str| {
        facts.is_some_and(|facts| {
            std::iter::once(&facts.id)
                .chain(&facts.aliases)
                .any(|id| id.as_str() == name || id.name() == name)
        })
    };
    previous.model == current.model || (is_named(&previous.model) && is_named(&current.model))
}

fn diverged(
    evidence: &Evidence<'_>,
    seen: PreviousRequest<'_>,
    readable: &Readable<'_>,
    difference: &Difference,
) -> Finding {
    let Attributed { mut cause, bytes, unknown } = attribute(evidence, seen, difference);
    let gone = readable.expiry() == Expiry::Gone;
    if let Cause::Expired { certain } = &mut cause {
        // A prompt is rebuilt once the cache counts as cold, which may be before the provider has certainly deleted it.
        *certain = gone;
    }
    let place = DivergencePoint {
        section: difference.section.clone(),
        layer: difference.layer.clone(),
        bytes: bytes.or_else(|| difference.bytes.clone()).map(|bytes| (bytes.start, bytes.end)),
    };
    let before = readable.before(difference);
    let less_than_shared = read(&evidence.reported).is_some_and(|read| !readable.is_all(read, before));
    if gone && less_than_shared {
        // Not even the shared prefix was read, so the difference after it does not matter.
        let mut finding = Finding::of(Cause::Expired { certain: true }, readable.tokens);
        finding.also.push(format!("the prefix diverged at {place}: {cause}"));
        return finding;
    }
    let mut finding = Finding::of(cause, readable.tokens);
    finding.place = Some(place);
    finding.unknown.extend(unknown.into_iter().map(str::to_owned));
    if gone && !matches!(finding.cause, Some(Cause::Expired { .. })) {
        finding.also.push(Cause::Expired { certain: true }.to_string());
    }
    finding
}

/// The cause if the prefix is unchanged but was not read.
fn stable(evidence: &Evidence<'_>, readable: &Readable<'_>) -> Cause {
    if !readable.in_reach() {
        return Cause::OutOfReach { blocks: evidence.rules.look_back.unwrap_or(0) };
    }
    match readable.expiry() {
        Expiry::Gone => Cause::Expired { certain: true },
        Expiry::Perhaps => Cause::Expired { certain: false },
        Expiry::There if evidence.rules.breakpoints == Breakpoints::None => Cause::Unknown,
        Expiry::There => Cause::ProviderMissed,
    }
}

impl Finding {
    fn note_stable(&mut self, evidence: &Evidence<'_>, seen: PreviousRequest<'_>) {
        if evidence.reported.cache().is_none() {
            // Nothing differs and no miss was reported.
            self.cause = None;
            return;
        }
        if evidence.rules.breakpoints == Breakpoints::None {
            self.unknown.push("whether this provider caches at all".to_owned());
        }
        if self.cause == Some(Cause::Expired { certain: false }) {
            self.unknown.push("how long the provider kept it: it states no exact time".to_owned());
        }
        if self.cause == Some(Cause::ProviderMissed) {
            self.unknown
                .push("whether the previous answer had begun before this request was sent".to_owned());
        }
        if seen.shape.model != evidence.current.model {
            self.unknown.push(format!(
                "whether the provider keeps one cache for `{}` and `{}`",
                seen.shape.model, evidence.current.model
            ));
        }
    }

    /// Notes a contradiction between the provider's reason and our result.
    fn note_provider(&mut self, reason: Option<&str>) {
        let (Some(reason), Some(place)) = (reason, &self.place) else { return };
        let ours = match place.section.code().split(':').next() {
            Some("tool") => "tools_changed",
            Some("system") => "system_changed",
            Some("message") => "messages_changed",
            Some("model") => "model_changed",
            _ => return,
        };
        if reason != ours && reason.ends_with("_changed") {
            self.unknown.push(format!("why the provider says `{reason}`: the shapes say otherwise"));
        }
    }

    /// Lists the rules that the cause depends on and that no documentation states.
    fn note_assumed(&mut self, evidence: &Evidence<'_>) {
        let assumed = evidence.rules.assumed;
        match &self.cause {
            None => return,
            Some(Cause::Expired { .. } | Cause::ProviderMissed) if assumed.retention => {
                self.assumed.push("cache_retention");
                self.unknown.push("how long this provider keeps a prefix: the time is assumed".to_owned());
            }
            Some(Cause::BelowMinimum { .. }) if assumed.minimum => {
                self.assumed.push("min_cacheable");
                self.unknown.push("the smallest prefix this provider caches: the size is assumed".to_owned());
            }
            Some(_) => {}
        }
        if let Some(from) = evidence.facts.and_then(|facts| facts.assumed_from.as_ref()) {
            self.assumed.extend(["breakpoints", "prices"]);
            self.unknown
                .push(format!("whether the provider caches and charges as for `{from}`: it is assumed"));
        }
    }

    fn priced(self, evidence: &Evidence<'_>) -> Diagnosis {
        let usage = evidence.reported.cache();
        let nothing_lost = self.readable == 0 || self.cause.is_none();
        let lost = usage.filter(|_| !self.unseen).map(|usage| match nothing_lost {
            true => 0,
            false => {
                // Tokens after the last breakpoint could not be read.
                let processed = if usage.cache_write > 0 { usage.cache_write } else { usage.input };
                self.readable.saturating_sub(usage.cache_read).min(processed)
            }
        });
        let verdict = match (usage, &self.cause) {
            (None, _) => CacheVerdict::NotReported,
            (Some(_), None) => CacheVerdict::Hit,
            (Some(_), Some(_)) if self.unseen => CacheVerdict::Unknown,
            (Some(usage), Some(_)) if nothing_lost && usage.cache_read == 0 => CacheVerdict::NothingToRead,
            (Some(usage), Some(_)) if usage.cache_read > 0 => CacheVerdict::Partial,
            (Some(_), Some(_)) => CacheVerdict::Miss,
        };
        let (cost, cost_if_hit) = cost(evidence, lost);
        Diagnosis {
            verdict,
            cause: self.cause,
            place: self.place,
            tokens_rewritten: if self.never_written { lost.map(|_| 0) } else { lost },
            tokens_uncached: lost.filter(|_| self.never_written),
            tokens_read: usage.map(|usage| usage.cache_read),
            cost,
            cost_if_hit,
            provider_reason: evidence.provider_reason.map(str::to_owned),
            also: self.also,
            unknown: self.unknown,
            assumed: self.assumed,
            tokens_written: usage.map(|usage| usage.cache_write),
        }
    }
}

/// The cost of the tokens that were processed again, and the cost of reading them instead.
fn cost(evidence: &Evidence<'_>, rewritten: Option<u64>) -> (Price, Price) {
    let (Some(usage), Some(tokens)) = (evidence.reported.cache(), rewritten) else {
        return (Price::Unknown, Price::Unknown);
    };
    if tokens == 0 {
        return (Price::Known(Money::ZERO), Price::Known(Money::ZERO));
    }
    let written = tokens.min(usage.cache_write);
    let again = Usage {
        input: tokens - written,
        cache_write: written,
        cache_write_1h: written.min(usage.cache_write_1h),
        ..Usage::default()
    };
    let hit = Usage { cache_read: tokens, ..Usage::default() };
    let whole = evidence.reported.whole();
    (cost_within(evidence.facts, &again, whole), cost_within(evidence.facts, &hit, whole))
}
