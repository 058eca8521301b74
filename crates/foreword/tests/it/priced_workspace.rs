//! A workspace with a scripted provider and prices: 1,000 dollars per million input tokens and ten times that for
//! output, so that a token costs a tenth of a cent and a cent.

use foreword_core::message::Usage;
use foreword_core::provider::WireDialect;
use foreword_testkit::{FakeProvider, Reply};

use crate::program::{Home, PEOPLE, Ran};

/// An answer with these token counts.
pub(crate) fn answer(words: &str, input: u64, output: u64) -> Reply {
    Reply::text(words).usage(Usage { input, output, ..Usage::default() })
}

/// A workspace with `more` in its configuration.
pub(crate) fn home(provider: &FakeProvider, more: &str) -> Home {
    let config = format!(
        "agent: {{ name: Ada, model: harbour/quay-7b }}\n{PEOPLE}retry: {{ base_delay_ms: 40, max_delay_ms: 60 }}\n\
         providers:\n  harbour: {{ dialect: anthropic, base_url: \"{}\", api_key: key-4711 }}\n\
         prices:\n  - {{ id: harbour/quay-7b, context_window: 100000, breakpoints: explicit, \
         prices: {{ input: 1000, output: 10000, cache_read: 100, cache_write_5m: 1250 }} }}\n{more}",
        provider.provider(WireDialect::Anthropic).base_url
    );
    Home::with(&[("foreword.yaml", &config)])
}

/// Runs the program with the time zone UTC, as in the database.
pub(crate) fn in_utc(home: &Home, args: &[&str]) -> Ran {
    Ran::of(home.command(args).env("TZ", "UTC").output().unwrap())
}
