//! A turn that goes on although less is allowed than when it began: a tool was switched off, its server is gone, it needs more
//! trust by now, or the owner calls it sensitive. The stricter rule wins, and nothing is gained that was not there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Presence, Rules, ToolRule, Turn};

impl Turn {
    /// Holds the turn to `now` as well, what would hold for it if it began now. Calls that are still to be run and are not
    /// allowed any more have their answer at once, and are told by [`Turn::take_refusals`]; [`super::Input::Resumed`] goes on
    /// with the rest. What it has read, and how long it may take, stay its own.
    ///
    /// ```
    /// use foreword_core::turn::{Rules, Turn};
    ///
    /// let mut turn = Turn::new(Rules::default(), "2026-11-16T08:00:00Z".parse().unwrap());
    /// turn.narrow(&Rules::default());
    /// assert!(!turn.may_call("bash"));
    /// ```
    pub fn narrow(&mut self, now: &Rules) {
        let before = Arc::clone(&self.rules.tools);
        self.rules.tools = both(&before, &now.tools);
        // Whoever is not the owner any more confirms nothing.
        if self.rules.presence == Presence::Owner {
            self.rules.presence = now.presence;
        }
        self.calls.narrow(&before, &self.rules, &self.taint);
    }

    /// Whether there is a tool of that name for it.
    #[must_use]
    pub fn may_call(&self, tool: &str) -> bool {
        self.rules.tools.contains_key(tool)
    }
}

/// What is in both, by the stricter rule of the two.
fn both(
    before: &Arc<BTreeMap<String, ToolRule>>,
    now: &BTreeMap<String, ToolRule>,
) -> Arc<BTreeMap<String, ToolRule>> {
    if **before == *now {
        return Arc::clone(before);
    }
    let kept = before.iter().filter_map(|(name, rule)| Some((name.clone(), stricter(rule, now.get(name)?))));
    Arc::new(kept.collect())
}

fn stricter(before: &ToolRule, now: &ToolRule) -> ToolRule {
    ToolRule {
        // What it takes is what it takes now: that is what the model reads, and what runs.
        spec: now.spec.clone(),
        side_effects: before.side_effects || now.side_effects,
        sensitive: before.sensitive || now.sensitive,
        most_per_turn: match (before.most_per_turn, now.most_per_turn) {
            (Some(before), Some(now)) => Some(before.min(now)),
            (before, now) => before.or(now),
        },
    }
}
