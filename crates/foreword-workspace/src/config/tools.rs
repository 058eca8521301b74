//! Section `tools`: rules, sensitive tools and the settings of `bash`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use foreword_core::tools::outside::SEPARATOR;
use foreword_core::tools::{ALL_TOOLS, ToolName, ToolRules, builtin_tools};
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::BashConfig;
use super::bounds::DAY_MS;
use super::parse::ConfigParser;
use super::raw::{Named, RawMcpServer, RawMcpTool};

/// The tools an agent may use.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawTools {
    /// Disabled tools. An MCP tool is named with its server, as in `files__write_file`; `files__*` means all of a
    /// server's tools. If several rules, here and below, match a tool, the strictest applies.
    #[schemars(with = "Vec<String>")]
    pub disabled: Vec<Spanned<String>>,
    /// The minimum trust of a tool, by name. For an MCP tool it can only be higher than the server's.
    #[schemars(with = "BTreeMap<String, Trust>")]
    pub trust: BTreeMap<String, Spanned<Trust>>,
    /// Tools that need the owner's confirmation in a turn that has read text from outside. Default: `bash`,
    /// `write_file`, `update_prompt_layer`, `hand_over`.
    #[schemars(with = "Option<Vec<String>>")]
    pub sensitive: Option<Vec<Spanned<String>>>,
    /// How many seconds to wait for the owner's confirmation; a timeout means no. Default: 300.
    #[schemars(with = "Option<u64>")]
    pub confirm_seconds: Option<Spanned<u64>>,
    /// The tool `bash`.
    pub bash: RawBash,
    /// MCP servers, by a name of up to twenty characters of `a` to `z`, `0` to `9` and `-`. It prefixes the names of
    /// their tools, as in `time__now`.
    #[schemars(with = "BTreeMap<String, RawMcpServer>")]
    pub mcp: Named<RawMcpServer>,
}

/// The tool `bash`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawBash {
    /// The timeout of a command in milliseconds. Default: 120,000.
    #[schemars(with = "Option<u64>")]
    pub timeout_ms: Option<Spanned<u64>>,
    /// The maximum output the model receives, in bytes; longer output is truncated in the middle. Default: 32,768.
    #[schemars(with = "Option<usize>")]
    pub max_output_bytes: Option<Spanned<usize>>,
    /// Blocked commands, in addition to the built-in ones: whole words anywhere in a command; `*` matches any text.
    #[schemars(with = "Vec<String>")]
    pub blocked: Vec<Spanned<String>>,
}

const SENSITIVE: [&str; 4] = ["bash", "hand_over", "update_prompt_layer", "write_file"];

/// The built-in tools with these rules applied.
pub(super) fn built_in(rules: &ToolRules) -> Vec<ToolSpec> {
    builtin_tools().into_iter().filter_map(|tool| rules.for_built_in(tool)).collect()
}

impl ConfigParser<'_> {
    pub(super) fn tool_rules(&mut self, raw: &RawTools) -> ToolRules {
        let mut trust = BTreeMap::new();
        for (written, needed) in &raw.trust {
            let Some(name) = self.tool_name(&raw.mcp, written, needed.defined) else { continue };
            self.note_weaker_rule(&raw.mcp, &name, needed);
            let known = trust.entry(name).or_insert(needed.value);
            *known = known.stricter(needed.value);
        }
        ToolRules {
            disabled: self.tool_names(&raw.mcp, &raw.disabled),
            trust,
            sensitive: match &raw.sensitive {
                Some(written) => self.tool_names(&raw.mcp, written),
                None => SENSITIVE.into_iter().map(ToolName::new).collect(),
            },
        }
    }

    /// The tools that a list of names refers to.
    pub(super) fn tool_names(
        &mut self,
        servers: &Named<RawMcpServer>,
        written: &[Spanned<String>],
    ) -> BTreeSet<ToolName> {
        written.iter().filter_map(|name| self.tool_name(servers, &name.value, name.defined)).collect()
    }

    /// The tool or tools that a name refers to. The tools of an MCP server are known only once it runs.
    fn tool_name(&mut self, servers: &Named<RawMcpServer>, name: &str, at: Location) -> Option<ToolName> {
        let tools = builtin_tools();
        let known = |server: &str| servers.0.iter().any(|(known, _)| known.value == server);
        let help = match name.split_once(SEPARATOR) {
            None if tools.iter().any(|tool| tool.name == name) => return Some(ToolName::new(name)),
            None if known(name) => {
                Some(format!("did you mean all its tools, `{name}{SEPARATOR}{ALL_TOOLS}`?"))
            }
            None => did_you_mean(name, tools.iter().map(|tool| tool.name.as_str()))
                .map(|near| format!("did you mean `{near}`?")),
            Some((server, _)) if !known(server) => Some(near_server(servers, name)),
            Some((_, ALL_TOOLS)) => return Some(ToolName::new(name)),
            Some((_, tool)) if !tool.trim().is_empty() && !tool.contains(ALL_TOOLS) => {
                return Some(ToolName::new(name));
            }
            Some((server, _)) => Some(format!(
                "name one of its tools, as in `{server}{SEPARATOR}read`, or write `{server}{SEPARATOR}{ALL_TOOLS}` for all of them"
            )),
        };
        self.refuse(at, format!("there is no tool `{}`", name.escape_debug()), help);
        None
    }

    /// Notes a rule without effect, because the rule of the server is stricter.
    fn note_weaker_rule(&mut self, servers: &Named<RawMcpServer>, name: &ToolName, needed: &Spanned<Trust>) {
        let Some((server, tool)) = name.as_str().split_once(SEPARATOR) else { return };
        let Some((_, raw)) = servers.0.iter().find(|(known, _)| known.value == server) else { return };
        let of_all = raw.trust.unwrap_or(Trust::Full);
        let of_each = |(own, rule): &(Spanned<String>, RawMcpTool)| {
            let is_meant = tool == ALL_TOOLS
                || name.covers(ToolName::new(&format!("{server}{SEPARATOR}{}", own.value)).as_str());
            rule.trust.filter(|_| is_meant)
        };
        let mut each: Vec<Trust> = raw.tools.0.iter().filter_map(of_each).collect();
        if tool == ALL_TOOLS || each.is_empty() {
            each.push(of_all);
        }
        if each.iter().all(|own| *own != needed.value && own.permits(needed.value)) {
            let message = format!(
                "`{name}: {}` has no effect: the rule in `tools.mcp.{server}` is stricter",
                needed.value
            );
            let help = "the stricter of two rules applies; lower the one in `tools.mcp`".to_owned();
            self.note(needed.defined, message, help);
        }
    }

    /// The timeout of a confirmation. With 0, every sensitive call is refused.
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
}

/// A suggestion for a tool name with an unknown server.
fn near_server(servers: &Named<RawMcpServer>, name: &str) -> String {
    let (server, tool) = name.split_once(SEPARATOR).unwrap_or((name, ALL_TOOLS));
    let known = || servers.0.iter().map(|(known, _)| known.value.as_str());
    match did_you_mean(server, known()) {
        Some(near) => format!("did you mean `{near}{SEPARATOR}{}`?", tool.escape_debug()),
        None if known().next().is_none() => "no MCP server is configured; see `tools.mcp`".to_owned(),
        None => {
            let all: Vec<String> = known().map(|known| format!("`{known}`")).collect();
            format!("there is no server of that name in `tools.mcp`, only {}", all.join(", "))
        }
    }
}
