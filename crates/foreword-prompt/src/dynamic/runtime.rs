//! The runtime lines: who, where and when. Runs on every turn, so it does little more than copying.

use crate::occasion::{FormattedTime, Occasion};
use crate::trust::Trust;
use crate::untrusted::single_line;

/// The maximum length of a name from outside.
const NAME_CHARS: usize = 120;

/// The runtime lines for an occasion at an effective trust.
#[must_use]
pub fn runtime(occasion: &Occasion, trust: Trust) -> String {
    let now = &occasion.now;
    let mut out = String::with_capacity(256);
    let mut line = |parts: &[&str]| {
        if !out.is_empty() {
            out.push('\n');
        }
        for part in parts {
            out.push_str(part);
        }
    };
    line(&time_line(now));
    line(&["- Model: ", &single_line(&occasion.model, NAME_CHARS)]);
    if let Some(channel) = &occasion.channel {
        line(&["- Channel: ", &single_line(channel.as_str(), NAME_CHARS)]);
    }
    line(&["- Situation: ", &single_line(&occasion.situation, NAME_CHARS)]);
    match &occasion.user {
        Some(user) => {
            line(&["- Speaking with: ", &single_line(user, NAME_CHARS), ", trust ", trust.as_str()])
        }
        None => line(&["- Speaking with: somebody unknown, trust ", trust.as_str()]),
    }
    out
}

/// The runtime lines at another time: only the first line contains the time; the others are kept.
#[must_use]
pub(crate) fn runtime_at(lines: &str, now: &FormattedTime) -> String {
    let rest = lines.find('\n').map_or("", |end| &lines[end..]);
    let mut out = time_line(now).concat();
    out.push_str(rest);
    out
}

fn time_line(now: &FormattedTime) -> [&str; 9] {
    ["- Time: ", &now.weekday, ", ", &now.date, " ", &now.time, " (", &now.zone, ")"]
}
