//! Who, where and when, in a few lines. On the path of every turn, so it does little more than copy.

use crate::occasion::Occasion;
use crate::trust::Trust;
use crate::untrusted::single_line;

/// The longest name from outside that is worth showing.
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
    line(&["- Time: ", &now.weekday, ", ", &now.date, " ", &now.time, " (", &now.zone, ")"]);
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
