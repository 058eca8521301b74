//! What reading a file of the workspace needs. This is the one decision for prompts, tools, memory, skills, workflows and
//! MCP: a path has the same trust whichever way it is read. Opens nothing but the list of workflows.

use foreword_prompt::file_rules::Needed;
use foreword_prompt::layer::{Layer, Source};
use foreword_prompt::trust::Trust;

use crate::config::{CONFIG_FILE, Config, Member, plain, stricter};
use crate::snapshot::Snapshot;

/// What a file is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To be part of a prompt, for a layer whose own trust was judged before.
    PromptSource,
    /// To be given out as it is written. The sources of templates, of overlays and of agents' instructions are for the owner:
    /// they hold what other trusts and other situations read.
    Text,
}

impl Snapshot {
    /// What the file at `path`, relative to the workspace, needs when `user` asks for it: by the owner's rules and by the trust
    /// a workflow's file states; where neither says anything, by the layers that show it and by what it is a source of.
    #[must_use]
    pub fn needed(&self, path: &str, user: Option<&str>, access: Access) -> Needed {
        let plain = plain(path);
        // In an agent's own folder a file stands for what is called the same outside.
        let names = || std::iter::once(plain.as_str()).chain(self.config.in_own_folders(&plain));
        let ruled = self.config.needed(&plain, user);
        let stated = names().fold(ruled, |needed, name| stricter(needed, self.stated(name)));
        if stated != Needed::Unruled {
            return stated;
        }
        if access == Access::Text && names().any(|name| is_source(&self.config, name)) {
            return Needed::Trust(Trust::Full);
        }
        names().fold(Needed::Unruled, |needed, name| stricter(needed, of_layers(&self.config, name)))
    }

    /// What a file says itself: a workflow by its `trust`, and the configuration is the owner's.
    fn stated(&self, plain: &str) -> Needed {
        if plain == CONFIG_FILE {
            return Needed::Trust(Trust::Full);
        }
        if !is_workflow(plain) {
            return Needed::Unruled;
        }
        match self.workflows().items.iter().find(|workflow| workflow.path == plain) {
            Some(workflow) => workflow.trust.map_or(Needed::Unruled, Needed::Trust),
            // What a workflow that can't be read asks for is not known.
            None => Needed::Trust(Trust::Full),
        }
    }
}

/// What the layers need that show the file at `plain`: the least of them.
fn of_layers(config: &Config, plain: &str) -> Needed {
    let layers = config.roster.members().iter().flat_map(|agent| &agent.layers.layers);
    let shown = layers.filter_map(|layer| match &layer.source {
        Source::File(file) if shows(layer, plain) => Some(layer.trust.stricter(file.unlisted)),
        _ => None,
    });
    match shown.reduce(Trust::meet) {
        // No more than a file needs that nothing is said about.
        None | Some(Trust::Public | Trust::Familiar) => Needed::Unruled,
        Some(trust) => Needed::Trust(trust),
    }
}

/// Whether the file at `plain` is the source of a template, an overlay or an agent's instructions.
fn is_source(config: &Config, plain: &str) -> bool {
    let is = |written: &str| self::plain(written) == plain;
    let of_agent = |agent: &Member| {
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

/// Whether `path` is below `folder`; both plain.
#[must_use]
pub fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether `layer` shows the file at `plain` as it is.
fn shows(layer: &Layer, plain: &str) -> bool {
    matches!(&layer.source, Source::File(file) if fits(&self::plain(&file.path), plain))
}

/// Whether `layer` takes its text from the file at `plain`.
#[must_use]
pub fn takes(layer: &Layer, plain: &str) -> bool {
    let is_template =
        matches!(&layer.source, Source::Template { path: Some(path), .. } if self::plain(path) == plain);
    is_template || shows(layer, plain)
}

/// Whether `path` is what `written` names, whatever stands in for a `{name}` in it.
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
    fn a_name_in_braces_stands_for_any_name() {
        assert!(fits("channels/{family}.md", "channels/signal.md"));
        assert!(!fits("channels/{family}.md", "channels/signal.txt"));
        assert!(!fits("a{x}a", "a"));
        assert!(fits("rules.md", "rules.md"));
    }
}
