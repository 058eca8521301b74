//! The tools of all servers. They stay available during a restart, so that prompts do not change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foreword_core::tools::outside::AcceptedTools;
use foreword_prompt::tool::ToolSpec;
use parking_lot::Mutex;

use super::call::McpTool;
use super::supervisor::Server;
use crate::tool::{OutsideTools, Tool};

/// The tools of all servers.
#[derive(Default)]
pub(super) struct Offered(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    by_server: BTreeMap<Arc<str>, Listed>,
    together: Arc<OutsideTools>,
}

/// The tools of one server.
struct Listed {
    server: Arc<Server>,
    version: Option<String>,
    taken: AcceptedTools,
}

impl Offered {
    pub(super) fn now(&self) -> Arc<OutsideTools> {
        Arc::clone(&self.0.lock().together)
    }

    /// Puts what `server` offers in the place of what it has offered before; says whether anything is different. One that
    /// is stopping offers nothing any more: another may have its name by now.
    pub(super) fn publish(
        &self,
        server: &Arc<Server>,
        version: Option<String>,
        taken: AcceptedTools,
    ) -> bool {
        let mut lists = self.0.lock();
        if server.is_stopped() {
            return false;
        }
        let before = lists.by_server.get(&server.name).filter(|before| Arc::ptr_eq(&before.server, server));
        let same = before.is_some_and(|before| before.taken.tools == taken.tools);
        let unchanged = same
            && before
                .is_some_and(|before| before.version == version && before.taken.warnings == taken.warnings);
        let listed = Listed { server: Arc::clone(server), version, taken };
        lists.by_server.insert(Arc::clone(&server.name), listed);
        if !same {
            lists.rebuild();
        }
        !unchanged
    }

    /// Removes the tools of a server.
    pub(super) fn withdraw(&self, server: &str) {
        let mut lists = self.0.lock();
        if lists.by_server.remove(server).is_some() {
            lists.rebuild();
        }
    }

    /// A server's name and version, the names of its tools, and what was left out.
    pub(super) fn listed(&self, server: &str) -> (Option<String>, Vec<String>, Vec<String>) {
        let lists = self.0.lock();
        let Some(listed) = lists.by_server.get(server) else { return Default::default() };
        let names = listed.taken.tools.iter().map(|tool| tool.spec.name.clone()).collect();
        (listed.version.clone(), names, listed.taken.warnings.clone())
    }
}

impl Lists {
    fn rebuild(&mut self) {
        let (mut specs, mut tools, mut sensitive) =
            (Vec::<ToolSpec>::new(), BTreeMap::new(), BTreeSet::new());
        for Listed { server, taken, .. } in self.by_server.values() {
            for tool in &taken.tools {
                let name = tool.spec.name.clone();
                specs.push(tool.spec.clone());
                if tool.sensitive {
                    sensitive.insert(name.clone());
                }
                let tool = McpTool::new(Arc::clone(server), name.clone(), tool.offered_as.clone());
                tools.insert(name, Arc::new(tool) as Arc<dyn Tool>);
            }
        }
        let version = self.together.version + 1;
        self.together = Arc::new(OutsideTools { version, specs: specs.into(), tools, sensitive });
    }
}
