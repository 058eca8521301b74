//! A test case: the previous request, the current request, the reported usage, and the expected diagnosis.

use std::time::Duration;

use foreword_prompt::epoch::{HardChange, Reason};

use super::super::*;
use super::script::Script;
use crate::message::Usage;
use crate::models::ModelCatalog;
use crate::timestamp::Timestamp;

/// What the provider reads.
#[derive(Clone, Copy)]
pub(super) enum Reads {
    Nothing,
    /// The prefix of this many sections.
    Sections(usize),
    /// Everything the previous request left, rounded down to a step of 128.
    AllInSteps,
    /// Everything up to the end of the previous request.
    All,
    NotReported,
}

/// The reported usage of the previous request.
#[derive(Clone, Copy)]
enum Before {
    Unknown,
    Reported,
    NothingCached,
}

/// A pair of requests and the expected findings.
pub(super) struct Case {
    pub(super) name: &'static str,
    previous: Option<Script>,
    pub(super) now: Script,
    first: bool,
    from: &'static str,
    after: u64,
    touched: Option<u64>,
    reads: Reads,
    known: KnownChanges,
    provider_reason: Option<&'static str>,
    before: Before,
    blind: bool,
    pub(super) cause: Option<&'static str>,
    pub(super) verdict: CacheVerdict,
    pub(super) place: Option<&'static str>,
    pub(super) value: Option<&'static str>,
}

/// A full miss, two minutes after the previous request.
pub(super) fn case(name: &'static str, previous: Script, now: Script) -> Case {
    Case {
        name,
        previous: Some(previous),
        now,
        first: false,
        from: "2026-06-05T09:00:00Z",
        after: 120,
        touched: None,
        reads: Reads::Nothing,
        known: KnownChanges::default(),
        provider_reason: None,
        before: Before::Unknown,
        blind: false,
        cause: None,
        verdict: CacheVerdict::Miss,
        place: None,
        value: None,
    }
}

impl Case {
    pub(super) fn finds(self, cause: &'static str) -> Self {
        Self { cause: Some(cause), ..self }
    }
    pub(super) fn at(self, place: &'static str) -> Self {
        Self { place: Some(place), ..self }
    }
    pub(super) fn value(self, value: &'static str) -> Self {
        Self { value: Some(value), ..self }
    }
    pub(super) fn verdict(self, verdict: CacheVerdict) -> Self {
        Self { verdict, ..self }
    }
    pub(super) fn all_read(self) -> Self {
        Self { cause: None, verdict: CacheVerdict::Hit, ..self }
    }
    pub(super) fn from(self, from: &'static str) -> Self {
        Self { from, ..self }
    }
    pub(super) fn after(self, after: u64) -> Self {
        Self { after, ..self }
    }
    /// The prefix was used this many seconds after the previous request.
    pub(super) fn touched(self, touched: u64) -> Self {
        Self { touched: Some(touched), ..self }
    }
    pub(super) fn reads(self, reads: Reads) -> Self {
        Self { reads, ..self }
    }
    /// The usage of the previous request was reported too.
    pub(super) fn exact(self) -> Self {
        Self { before: Before::Reported, ..self }
    }
    /// The usage of the previous request was reported, with nothing cached.
    pub(super) fn cached_nothing(self) -> Self {
        Self { before: Before::NothingCached, ..self }
    }
    /// The text is not available.
    pub(super) fn blind(self) -> Self {
        Self { blind: true, ..self }
    }
    pub(super) fn epoch(mut self, reason: Reason) -> Self {
        self.known.epoch = Some(reason);
        self
    }
    pub(super) fn changed(self, what: &str, from: &str, to: &str) -> Self {
        self.epoch(Reason::Changed(vec![HardChange {
            what: what.into(),
            from: from.to_owned(),
            to: to.to_owned(),
        }]))
    }
    pub(super) fn edited(mut self, layer: &str, file: &str) -> Self {
        self.known.edited.push(EditedLayer { layer: layer.to_owned(), file: Some(file.to_owned()) });
        self
    }
    pub(super) fn provider_says(self, reason: &'static str) -> Self {
        Self { provider_reason: Some(reason), ..self }
    }
    pub(super) fn first(self) -> Self {
        Self { previous: None, first: true, ..self }
    }
    pub(super) fn not_seen(self) -> Self {
        Self { previous: None, ..self }
    }

    pub(super) fn diagnose(&self) -> Diagnosis {
        let previous = self.previous.as_ref().map(Script::shape);
        let current = self.now.shape();
        let sent: Timestamp = self.from.parse().expect("a time");
        let catalog = ModelCatalog::builtin();
        let facts = catalog.resolve(&self.now.model);
        let facts = facts.as_deref();
        let rules =
            facts.map_or(CacheRules::UNKNOWN_PROVIDER, |facts| CacheRules::of(&facts.id, Some(facts)));
        let reported = previous.as_ref().and_then(|shape| self.before.reported(shape));
        let seen =
            previous.as_ref().map(|shape| Previous::Seen(PreviousRequest { shape, at: sent, reported }));
        let unseen = if self.first { Previous::First } else { Previous::NotSeen };
        let peek = |section: &SectionName, range: std::ops::Range<usize>| {
            self.now.text_of(section)?.as_bytes().get(range).map(<[u8]>::to_vec)
        };
        diagnose(&Evidence {
            previous: seen.unwrap_or(unseen),
            current: &current,
            at: sent.plus(Duration::from_secs(self.after)),
            last_touch: self.touched.map(|touched| sent.plus(Duration::from_secs(touched))),
            facts,
            rules,
            reported: reported_now(self.reads, previous.as_ref(), &current),
            provider_reason: self.provider_reason,
            known: &self.known,
            peek: (!self.blind).then_some(&peek as Peek<'_>),
        })
    }
}

impl Before {
    fn reported(self, shape: &RequestShape) -> Option<Reported> {
        match self {
            Self::Unknown => None,
            Self::Reported => Some(reported(shape, Reads::Nothing, shape)),
            Self::NothingCached => {
                let input = shape.tokens() as u64;
                Some(Reported::WithCache(Usage { input, ..Usage::default() }))
            }
        }
    }
}

fn reported_now(reads: Reads, previous: Option<&RequestShape>, current: &RequestShape) -> Reported {
    reported(current, reads, previous.unwrap_or(current))
}

/// The usage reported by a provider that counts an eighth more tokens than we do.
fn reported(shape: &RequestShape, reads: Reads, previous: &RequestShape) -> Reported {
    let theirs = |sections: &[Section]| -> u64 {
        sections.iter().map(|section| section.tokens as u64).sum::<u64>() * 9 / 8
    };
    let whole = theirs(shape.sections());
    let prefix = |shape: &RequestShape| theirs(&shape.sections()[..shape.marked_prefix()]);
    let left = prefix(previous).min(whole);
    let cache_read = match reads {
        Reads::Nothing => 0,
        Reads::Sections(count) => theirs(&shape.sections()[..count]),
        Reads::AllInSteps => left / 128 * 128,
        Reads::All => left,
        Reads::NotReported => return Reported::WithoutCache(Usage { input: whole, ..Usage::default() }),
    };
    let has_breakpoints = shape.breakpoints().next().is_some();
    let cache_write = if has_breakpoints { prefix(shape).saturating_sub(cache_read) } else { 0 };
    Reported::WithCache(Usage {
        input: whole - cache_read - cache_write,
        cache_read,
        cache_write,
        ..Usage::default()
    })
}
