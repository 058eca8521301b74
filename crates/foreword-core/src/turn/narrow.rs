//! Applies stricter rules to a running turn: a tool was disabled, its server is gone, it needs more trust, or it became
//! sensitive. The stricter rule wins, and nothing is added.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ToolRule, Turn, TurnAttendance, TurnRules};

impl Turn {
    /// Restricts the turn to the rules in `now`. Open calls that are no longer allowed are refused and returned by
    /// [`Turn::take_refusals`]; [`super::Input::Resumed`] continues with the rest. Taint and limits are unchanged.
    ///
    /// ```
    /// use foreword_core::turn::{TurnRules, Turn};
    ///
    /// let mut turn = Turn::new(TurnRules::default(), "2026-11-16T08:00:00Z".parse().unwrap());
    /// turn.narrow(&TurnRules::default());
    /// assert!(!turn.may_call("bash"));
    /// ```
    pub fn narrow(&mut self, now: &TurnRules) {
        let before = Arc::clone(&self.rules.tools);
        self.rules.tools = both(&before, &now.tools);
        // A user who is no longer the owner cannot confirm calls.
        if self.rules.attendance == TurnAttendance::Owner {
            self.rules.attendance = now.attendance;
        }
        self.calls.narrow(&before, &self.rules, &self.taint);
    }

    /// Whether the turn has a tool of that name.
    #[must_use]
    pub fn may_call(&self, tool: &str) -> bool {
        self.rules.tools.contains_key(tool)
    }
}

/// The tools in both sets, with the stricter of the two rules.
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
        // The current specification is what the model reads and what runs.
        spec: now.spec.clone(),
        side_effects: before.side_effects || now.side_effects,
        sensitive: before.sensitive || now.sensitive,
        most_per_turn: match (before.most_per_turn, now.most_per_turn) {
            (Some(before), Some(now)) => Some(before.min(now)),
            (before, now) => before.or(now),
        },
    }
}
