//! Times in responses and query parameters.

use foreword_core::since::since;
use foreword_core::timestamp::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::problem::Problem;

/// A time in UTC, to the microsecond.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, format = DateTime, example = "2026-11-16T08:30:00.000000Z")]
pub(crate) struct UtcTime(Timestamp);

impl From<Timestamp> for UtcTime {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

/// Parses a time such as `12h`, in the server's time zone.
pub(crate) fn parse_time(words: Option<&str>, app: &App) -> Result<Option<Timestamp>, Problem> {
    let read = words.map(|words| since(words, &app.clock_and_rng.now())).transpose();
    read.map_err(|bad| Problem::bad_request("bad_time", bad.to_string()))
}
