//! The tools of a turn and their rules: the same for every turn of one agent and trust, until the configuration changes. So they are
//! made once and shared.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use foreword_core::tools::outside::SEPARATOR;
use foreword_core::turn::ToolRule;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::{Config, Roster};

use crate::agent::Agent;
use crate::shared::Shared;
use crate::tool::OutsideTools;

/// The tool of which one call per turn is enough.
const ONCE_PER_TURN: &str = "update_prompt_layer";

/// What a turn can call.
#[derive(Debug, Clone)]
pub(crate) struct ToolSet {
    pub(crate) specs: Arc<[ToolSpec]>,
    /// By name.
    pub(crate) rules: Arc<BTreeMap<String, ToolRule>>,
}

/// A tool as whoever may call it is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedTool {
    /// What a model reads of it.
    pub spec: ToolSpec,
    /// The server it is from; none, if it is part of the program.
    pub server: Option<String>,
    /// Whether a turn that has read text from outside needs the owner's word for it.
    pub sensitive: bool,
}

impl Agent {
    /// The tools that the model may call where somebody is trusted so far, as they are now.
    #[must_use]
    pub fn tools_at(&self, trust: Trust) -> Vec<OfferedTool> {
        let shared = self.shared();
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let outside = shared.outside_tools();
        let offered = |spec: ToolSpec| OfferedTool {
            server: spec.name.split_once(SEPARATOR).map(|(server, _)| server.to_owned()),
            sensitive: config.tool_rules.is_sensitive(&spec.name) || outside.sensitive.contains(&spec.name),
            spec,
        };
        config.tools_at(trust, &outside.specs).into_iter().map(offered).collect()
    }
}

/// The sets that have been made.
#[derive(Debug, Default)]
pub(crate) struct ToolSets(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The agents they were made for: all whose configuration was read together.
    roster: Option<Arc<Roster>>,
    /// The version of the tools from elsewhere.
    outside: u64,
    sets: Vec<(Arc<str>, Trust, ToolSet)>,
}

impl ToolSets {
    /// What a turn of trust `trust` can call, if there are these tools from elsewhere.
    pub(crate) fn at(
        &self,
        shared: &Shared,
        config: &Arc<Config>,
        outside: &OutsideTools,
        trust: Trust,
    ) -> ToolSet {
        // What is kept can be made again.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &Arc<Roster>| Arc::ptr_eq(known, &config.roster);
        if !kept.roster.as_ref().is_some_and(is_same) || kept.outside != outside.version {
            let roster = Some(Arc::clone(&config.roster));
            *kept = Kept { roster, outside: outside.version, sets: Vec::new() };
        }
        let agent = &config.agent.name;
        if let Some((.., set)) = kept.sets.iter().find(|(of, at, _)| of == agent && *at == trust) {
            return set.clone();
        }
        let specs: Arc<[ToolSpec]> = config.tools_at(trust, &outside.specs).into();
        let set = ToolSet { rules: Arc::new(rules(shared, config, outside, &specs)), specs };
        kept.sets.push((Arc::clone(agent), trust, set.clone()));
        set
    }
}

fn rules(
    shared: &Shared,
    config: &Config,
    outside: &OutsideTools,
    tools: &[ToolSpec],
) -> BTreeMap<String, ToolRule> {
    let rule = |spec: &ToolSpec| {
        let name = spec.name.as_str();
        let tool = shared.tools.get(name).or_else(|| outside.tools.get(name))?;
        let rule = ToolRule {
            side_effects: tool.has_side_effects(),
            sensitive: config.tool_rules.is_sensitive(name) || outside.sensitive.contains(name),
            most_per_turn: (spec.name == ONCE_PER_TURN).then_some(1),
            spec: spec.clone(),
        };
        Some((spec.name.clone(), rule))
    };
    tools.iter().filter_map(rule).collect()
}
