//! The tools of a turn and their rules. They depend only on agent, trust and configuration, so the turns share cached
//! sets.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_core::tools::outside::SEPARATOR;
use foreword_core::turn::ToolRule;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::{Config, Roster};
use parking_lot::Mutex;

use crate::agent::Agent;
use crate::shared::Shared;
use crate::tool::OutsideTools;

/// The tool that a turn may call only once.
const ONCE_PER_TURN: &str = "update_prompt_layer";

/// The tools that a turn can call.
#[derive(Debug, Clone)]
pub(crate) struct ToolSet {
    pub(crate) specs: Arc<[ToolSpec]>,
    /// The rules by tool name.
    pub(crate) rules: Arc<BTreeMap<String, ToolRule>>,
}

/// A tool as listed for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTool {
    /// The specification for the model.
    pub spec: ToolSpec,
    /// The MCP server that offers it. `None` for built-in tools.
    pub server: Option<String>,
    /// Whether a tainted turn needs the owner's confirmation.
    pub sensitive: bool,
}

impl Agent {
    /// The tools that the model may currently call at this trust.
    #[must_use]
    pub fn tools_at(&self, trust: Trust) -> Vec<ListedTool> {
        let shared = self.shared();
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let outside = shared.outside_tools();
        let offered = |spec: ToolSpec| ListedTool {
            server: spec.name.split_once(SEPARATOR).map(|(server, _)| server.to_owned()),
            sensitive: config.tool_rules.is_sensitive(&spec.name) || outside.sensitive.contains(&spec.name),
            spec,
        };
        config.tools_at(trust, &outside.specs).into_iter().map(offered).collect()
    }
}

/// A cache of tool sets.
#[derive(Debug, Default)]
pub(crate) struct ToolSets(Mutex<Cache>);

#[derive(Debug, Default)]
struct Cache {
    /// The roster of the configuration that the sets belong to.
    roster: Option<Arc<Roster>>,
    /// The version of the external tools.
    outside: u64,
    sets: Vec<(Arc<str>, Trust, ToolSet)>,
}

impl ToolSets {
    /// The tools for a turn at this trust, given these external tools.
    pub(crate) fn at(
        &self,
        shared: &Shared,
        config: &Arc<Config>,
        outside: &OutsideTools,
        trust: Trust,
    ) -> ToolSet {
        let mut cache = self.0.lock();
        let is_same = |cached: &Arc<Roster>| Arc::ptr_eq(cached, &config.roster);
        if !cache.roster.as_ref().is_some_and(is_same) || cache.outside != outside.version {
            let roster = Some(Arc::clone(&config.roster));
            *cache = Cache { roster, outside: outside.version, sets: Vec::new() };
        }
        let agent = &config.agent.name;
        if let Some((.., set)) = cache.sets.iter().find(|(of, at, _)| of == agent && *at == trust) {
            return set.clone();
        }
        let specs: Arc<[ToolSpec]> = config.tools_at(trust, &outside.specs).into();
        let set = ToolSet { rules: Arc::new(rules(shared, config, outside, &specs)), specs };
        cache.sets.push((Arc::clone(agent), trust, set.clone()));
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
