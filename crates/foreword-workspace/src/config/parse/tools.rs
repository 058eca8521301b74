//! The tools there are, which of them are sensitive, and what holds for `bash`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::tools::builtin_tools;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::tool::ToolSpec;
use serde_saphyr::{Location, Spanned};

use super::Reader;
use super::bounds::DAY_MS;
use crate::config::BashConfig;
use crate::config::raw::{RawBash, RawTools};

const SENSITIVE: [&str; 4] = ["bash", "hand_over", "update_prompt_layer", "write_file"];

impl Reader<'_> {
    pub(super) fn tools(&mut self, raw: &RawTools) -> Vec<ToolSpec> {
        let mut tools = builtin_tools();
        for disabled in &raw.disabled {
            self.known_tool(&tools, &disabled.value, disabled.defined);
        }
        for (name, trust) in &raw.trust {
            self.known_tool(&tools, name, trust.defined);
            if let Some(tool) = tools.iter_mut().find(|tool| tool.name == *name) {
                tool.trust = trust.value;
            }
        }
        tools.retain(|tool| !raw.disabled.iter().any(|disabled| disabled.value == tool.name));
        tools
    }

    pub(super) fn sensitive_tools(&mut self, raw: &RawTools) -> BTreeSet<Arc<str>> {
        let Some(written) = &raw.sensitive else { return SENSITIVE.into_iter().map(Into::into).collect() };
        let tools = builtin_tools();
        for name in written.iter().filter(|name| !Self::is_of_a_server(&raw.mcp, &name.value)) {
            self.known_tool(&tools, &name.value, name.defined);
        }
        written.iter().map(|name| name.value.as_str().into()).collect()
    }

    /// How long the owner is waited for. Not at all is an answer too: whatever is sensitive is then refused.
    pub(super) fn confirmation(&mut self, written: Option<&Spanned<u64>>) -> Duration {
        Duration::from_secs(self.within(written, "tools.confirm_seconds", 0..=DAY_MS / 1_000, 300))
    }

    pub(super) fn bash(&mut self, raw: &RawBash) -> BashConfig {
        let default = BashConfig::default();
        let timeout = self.milliseconds(raw.timeout_ms.as_ref(), "tools.bash.timeout_ms", default.timeout);
        let max_output_bytes = self.within(
            raw.max_output_bytes.as_ref(),
            "tools.bash.max_output_bytes",
            256..=1_048_576,
            default.max_output_bytes,
        );
        let mut blocked = default.blocked;
        for pattern in &raw.blocked {
            if pattern.value.chars().all(|c| c == '*' || c.is_whitespace()) {
                let message = "this pattern in `tools.bash.blocked` would block every command".to_owned();
                self.refuse(
                    pattern.defined,
                    message,
                    "to switch the tool off, list it in `tools.disabled`".to_owned(),
                );
            }
            blocked.push(pattern.value.as_str().into());
        }
        BashConfig { timeout, max_output_bytes, blocked }
    }

    pub(super) fn known_tool(&mut self, tools: &[ToolSpec], name: &str, at: Location) {
        if tools.iter().any(|tool| tool.name == name) {
            return;
        }
        let near = did_you_mean(name, tools.iter().map(|tool| tool.name.as_str()));
        self.refuse(
            at,
            format!("there is no tool `{}`", name.escape_debug()),
            near.map(|near| format!("did you mean `{near}`?")),
        );
    }
}
