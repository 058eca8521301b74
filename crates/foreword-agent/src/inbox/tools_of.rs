//! The tools of a turn that answers the inbox, besides those its trust permits anyway.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::sender::{REPLIES_PER_MESSAGE, REPLY_TOOL};
use foreword_core::tools::inbox_tools;
use foreword_core::turn::ToolRule;
use foreword_prompt::tool::ToolSpec;

use crate::inbound::Purpose;
use crate::tool_sets::ToolSet;

/// The tools a turn for this purpose has besides those of the configuration: those from elsewhere, then its own.
pub(crate) fn more_tools(outside: &Arc<[ToolSpec]>, purpose: &Purpose) -> Arc<[ToolSpec]> {
    match purpose {
        Purpose::Inbox { .. } => outside.iter().cloned().chain(inbox_tools()).collect(),
        _ => Arc::clone(outside),
    }
}

/// What such a turn can call.
pub(crate) fn with_tools(set: ToolSet, purpose: &Purpose) -> ToolSet {
    let Purpose::Inbox { messages } = purpose else { return set };
    let most = u32::try_from(REPLIES_PER_MESSAGE * messages.len()).unwrap_or(u32::MAX);
    let mut specs: Vec<ToolSpec> = set.specs.iter().cloned().chain(inbox_tools()).collect();
    specs.sort_by(|one, other| one.name.cmp(&other.name));
    let mut rules: BTreeMap<String, ToolRule> = (*set.rules).clone();
    for spec in inbox_tools() {
        // Answers go out when the turn ends: a call by itself changes nothing.
        let most_per_turn = (spec.name == REPLY_TOOL).then_some(most);
        let rule = ToolRule { side_effects: false, sensitive: false, most_per_turn, spec: spec.clone() };
        rules.insert(spec.name, rule);
    }
    ToolSet { specs: specs.into(), rules: Arc::new(rules) }
}
