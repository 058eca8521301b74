//! Opens the sample workspace, and makes requests for its prompts.

use foreword_bench_http::sample::Sample;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::{Environment, Workspace};
use jiff::Zoned;
use jiff::civil::date;
use jiff::tz::TimeZone;

use crate::Found;

pub(crate) fn open(sample: &Sample) -> Found<Workspace> {
    Ok(Workspace::open(sample.path(), Environment::default())?)
}

/// A request by alice at her terminal, some minutes after a fixed time.
pub(crate) fn request(minute: i64) -> Result<Request, jiff::Error> {
    let start: Zoned = date(2026, 11, 16).at(8, 30, 0, 0).to_zoned(TimeZone::UTC)?;
    Ok(Request::at(start.checked_add(jiff::Span::new().minutes(minute))?, [7; 16]))
}
