//! The tools of a turn and their rules: the same for every turn of one agent and trust, until the configuration changes. So they are
//! made once and shared.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use foreword_core::turn::ToolRule;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::{Config, Roster};

use crate::shared::Shared;

/// The tool of which one call per turn is enough.
const ONCE_PER_TURN: &str = "update_prompt_layer";

/// What a turn can call.
#[derive(Debug, Clone)]
pub(crate) struct ToolSet {
    pub(crate) specs: Arc<[ToolSpec]>,
    /// By name.
    pub(crate) rules: Arc<BTreeMap<String, ToolRule>>,
}

/// The sets that have been made.
#[derive(Debug, Default)]
pub(crate) struct ToolSets(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The agents they were made for: all whose configuration was read together.
    roster: Option<Arc<Roster>>,
    sets: Vec<(Arc<str>, Trust, ToolSet)>,
}

impl ToolSets {
    /// What a turn of trust `trust` can call.
    pub(crate) fn at(&self, shared: &Shared, config: &Arc<Config>, trust: Trust) -> ToolSet {
        // What is kept can be made again.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.roster.as_ref().is_some_and(|known| Arc::ptr_eq(known, &config.roster)) {
            *kept = Kept { roster: Some(Arc::clone(&config.roster)), sets: Vec::new() };
        }
        let agent = &config.agent.name;
        if let Some((.., set)) = kept.sets.iter().find(|(of, at, _)| of == agent && *at == trust) {
            return set.clone();
        }
        let specs: Arc<[ToolSpec]> = config.tools_for(trust).into();
        let set = ToolSet { rules: Arc::new(rules(shared, config, &specs)), specs };
        kept.sets.push((Arc::clone(agent), trust, set.clone()));
        set
    }
}

fn rules(shared: &Shared, config: &Config, tools: &[ToolSpec]) -> BTreeMap<String, ToolRule> {
    let rule = |spec: &ToolSpec| {
        let tool = shared.tools.get(spec.name.as_str())?;
        let rule = ToolRule {
            side_effects: tool.has_side_effects(),
            sensitive: config.sensitive_tools.contains(spec.name.as_str()),
            most_per_turn: (spec.name == ONCE_PER_TURN).then_some(1),
            spec: spec.clone(),
        };
        Some((spec.name.clone(), rule))
    };
    tools.iter().filter_map(rule).collect()
}
