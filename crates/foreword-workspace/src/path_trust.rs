//! The trust needed to read a workspace file. Prompts, tools, memory, skills, workflows and MCP all use this function,
//! so a path needs the same trust in all of them. Reads nothing but the list of workflows.

use foreword_prompt::file_rules::FileRequirement;
use foreword_prompt::layer::{Layer, Source};
use foreword_prompt::trust::Trust;

use crate::config::{AgentEntry, CONFIG_FILE, Config, plain, stricter};
use crate::snapshot::Snapshot;

/// The purpose of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// As part of a prompt, for a layer whose own trust is already checked.
    PromptSource,
    /// Verbatim. The sources of templates, overlays and agent instructions are for the owner only, because they contain
    /// text for other trust levels and situations.
    Text,
}

impl Snapshot {
    /// The trust that `user` needs to read the file at `path`, relative to the workspace: by the owner's rules and by
    /// the `trust` of a workflow file; if neither applies, by the layers that show it and by what it is a source of.
    #[must_use]
    pub fn required_trust(&self, path: &str, user: Option<&str>, access: Access) -> FileRequirement {
        let plain = plain(path);
        // A file in an agent's own folder is treated like the file with the same path outside.
        let names = || std::iter::once(plain.as_str()).chain(self.config.in_own_folders(&plain));
        let ruled = self.config.required_trust(&plain, user);
        let stated = names().fold(ruled, |needed, name| stricter(needed, self.stated(name)));
        if stated != FileRequirement::NoRule {
            return stated;
        }
        if access == Access::Text && names().any(|name| is_source(&self.config, name)) {
            return FileRequirement::Trust(Trust::Full);
        }
        names().fold(FileRequirement::NoRule, |needed, name| stricter(needed, of_layers(&self.config, name)))
    }

    /// The trust a file states itself: the `trust` of a workflow. The configuration is for the owner.
    fn stated(&self, plain: &str) -> FileRequirement {
        if plain == CONFIG_FILE {
            return FileRequirement::Trust(Trust::Full);
        }
        if !is_workflow(plain) {
            return FileRequirement::NoRule;
        }
        match self.workflows().items.iter().find(|workflow| workflow.path == plain) {
            Some(workflow) => workflow.trust.map_or(FileRequirement::NoRule, FileRequirement::Trust),
            // The trust of an unreadable workflow is unknown.
            None => FileRequirement::Trust(Trust::Full),
        }
    }
}

/// The lowest trust of the layers that show the file at `plain`.
fn of_layers(config: &Config, plain: &str) -> FileRequirement {
    let layers = config.roster.members().iter().flat_map(|agent| &agent.layers.layers);
    let shown = layers.filter_map(|layer| match &layer.source {
        Source::File(file) if shows(layer, plain) => Some(layer.trust.stricter(file.unlisted)),
        _ => None,
    });
    match shown.reduce(Trust::meet) {
        // No more than a file without a rule needs.
        None | Some(Trust::Public | Trust::Familiar) => FileRequirement::NoRule,
        Some(trust) => FileRequirement::Trust(trust),
    }
}

/// Whether the file at `plain` is a source of a template, an overlay or an agent's instructions.
fn is_source(config: &Config, plain: &str) -> bool {
    let is = |written: &str| self::plain(written) == plain;
    let of_agent = |agent: &AgentEntry| {
        let prompt = &agent.prompt;
        let template =
            |layer: &Layer| matches!(&layer.source, Source::Template { path: Some(path), .. } if is(path));
        prompt.template_file.as_deref().is_some_and(is)
            || prompt.prompts_dir.as_deref().is_some_and(|folder| is_below(plain, &self::plain(folder)))
            || agent.layers.layers.iter().any(template)
    };
    is_below(plain, ".agents/prompt")
        || config.situations.values().filter_map(|situation| situation.overlay.as_deref()).any(is)
        || config.roster.members().iter().any(of_agent)
}

fn is_workflow(plain: &str) -> bool {
    let name = plain.strip_prefix("workflows/");
    name.is_some_and(|name| !name.contains('/') && (name.ends_with(".yaml") || name.ends_with(".yml")))
}

/// Whether `path` is below `folder`; both normalised.
#[must_use]
pub fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether `layer` shows the file at `plain` verbatim.
fn shows(layer: &Layer, plain: &str) -> bool {
    matches!(&layer.source, Source::File(file) if fits(&self::plain(&file.path), plain))
}

/// Whether `layer` reads its text from the file at `plain`.
#[must_use]
pub fn takes(layer: &Layer, plain: &str) -> bool {
    let is_template =
        matches!(&layer.source, Source::Template { path: Some(path), .. } if self::plain(path) == plain);
    is_template || shows(layer, plain)
}

/// Whether `path` matches `written`, where `{name}` matches any name.
fn fits(written: &str, path: &str) -> bool {
    match (written.find('{'), written.rfind('}')) {
        (Some(open), Some(close)) if open < close => {
            let (head, tail) = (&written[..open], &written[close + 1..]);
            path.len() >= head.len() + tail.len() && path.starts_with(head) && path.ends_with(tail)
        }
        _ => written == path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_match_any_name() {
        assert!(fits("channels/{family}.md", "channels/signal.md"));
        assert!(!fits("channels/{family}.md", "channels/signal.txt"));
        assert!(!fits("a{x}a", "a"));
        assert!(fits("rules.md", "rules.md"));
    }
}
