//! Reads the texts of a plan's layers. Reads only what the plan admits; trust and size are decided elsewhere.

use std::sync::Arc;

use foreword_prompt::assemble::{FrozenMaterial, Materials, Provenance, TurnMaterial};
use foreword_prompt::blueprint::builtin;
use foreword_prompt::content::{Content, Taken, fill, merge};
use foreword_prompt::dynamic::{runtime, situation};
use foreword_prompt::generated::{self, SkillLine, WorkflowLine};
use foreword_prompt::layer::{Authority, Dynamic, FileSource, Generated, Layer, Overflow, Source, Stability};
use foreword_prompt::menu::{MemoryTools, Menu};
use foreword_prompt::plan::Plan;
use foreword_prompt::prompt::Warning;
use foreword_prompt::stored::StoredVersions;
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;
use foreword_prompt::turn_text::{TurnContent, TurnText};
use foreword_prompt::untrusted::{Marker, single_line};

use super::guarded::GuardedRead;
use super::sources::{LayerReads, Sources};
use crate::error::WorkspaceError;
use crate::memory_files::{description_of, stated_description_of};
use crate::request::{Request, SourcePolicy, ToolsOf};
use crate::situation_input::situation_report;
use crate::skills::{Skill, skills_of_user};
use crate::snapshot::Snapshot;
use crate::speaker::Principal;
use crate::workflows::Workflow;
use crate::workspace::WorkspaceDir;

/// Why a layer's file is missing for this user. Shown to the owner only.
const WITHHELD: &str = "withheld: the file is not for this person";

/// Reads the texts for one request.
pub(super) struct Gatherer<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) dir: &'a WorkspaceDir,
    pub(super) request: &'a Request,
    pub(super) who: &'a Principal,
    tools: &'a [ToolSpec],
    counter: Tokenizer,
    pub(super) warnings: Vec<Warning>,
    /// Whether the same snapshot gives the same texts again.
    pub(super) repeatable: bool,
    /// Whether a template contains the conversation's id.
    pub(super) has_conversation_id: bool,
    /// The versions of the stored texts that were used.
    pub(super) versions: StoredVersions,
    /// The sources that were read, and those that failed.
    pub(super) sources: Sources,
    /// The files read for the current layer.
    pub(super) layer_reads: LayerReads,
}

/// A layer's text and its source.
pub(super) struct LayerSource {
    pub(super) content: Content,
    pub(super) kind: &'static str,
    pub(super) origin: Option<Arc<str>>,
}

impl<'a> Gatherer<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        dir: &'a WorkspaceDir,
        request: &'a Request,
        who: &'a Principal,
    ) -> Self {
        Self {
            snapshot,
            dir,
            request,
            who,
            tools: &[],
            counter: Tokenizer::Estimate,
            warnings: Vec::new(),
            repeatable: true,
            has_conversation_id: false,
            versions: StoredVersions::default(),
            sources: Sources::default(),
            layer_reads: LayerReads::default(),
        }
    }

    pub(super) fn with_tools(self, tools: &'a [ToolSpec]) -> Self {
        Self { tools, ..self }
    }

    pub(super) fn with_counter(self, counter: Tokenizer) -> Self {
        Self { counter, ..self }
    }

    pub(super) fn trust(&self) -> Trust {
        self.who.trust.effective()
    }

    /// Reads the texts of `plan`.
    pub(super) fn gather(&mut self, plan: &Plan) -> Result<Materials, WorkspaceError> {
        let mut materials = Materials::default();
        self.sources.skipped = self.request.sources == SourcePolicy::TurnLayersOnly;
        for layer in &plan.layers {
            let layer = Arc::clone(layer);
            if layer.stability != Stability::Turn {
                if self.sources.skipped {
                    continue;
                }
                let (content, from) = self.layer_text(&layer)?;
                materials.frozen.push(FrozenMaterial { layer, content, from });
            } else if let Source::Dynamic(dynamic) = layer.source {
                let (content, from) = (self.made(dynamic, plan.compact), provenance("dynamic", None));
                materials.turn.push(TurnMaterial { layer, content, from });
            } else {
                let (content, from) = self.layer_text(&layer)?;
                materials.turn.push(TurnMaterial { layer, content: content.into(), from });
            }
        }
        materials.warnings = std::mem::take(&mut self.warnings);
        Ok(materials)
    }

    /// The text of a layer, or the reason why its source failed.
    pub(super) fn text_of(&mut self, layer: &Layer) -> Result<(Content, Provenance), WorkspaceError> {
        let found = match &layer.source {
            Source::Builtin { name, active_skills } => self.builtin(layer, name, *active_skills),
            Source::Text(text) => plain(Content::of_block(text), "text", None),
            Source::File(file) => return self.file_layer(layer, file),
            Source::Overlay => return self.overlay(layer),
            Source::Template { path, dialect } => self.template(layer, path.as_deref(), *dialect)?,
            Source::Instructions => self.instructions(layer)?,
            Source::Stored { default } => self.stored(layer, default),
            Source::Generated(generated) => plain(self.generated(*generated), "generated", None),
            Source::Files(_) | Source::Dynamic(_) => {
                plain(Content::Absent("it has no content here".into()), "dynamic", None)
            }
        };
        let from = provenance(found.kind, found.origin);
        Ok((found.content, from))
    }

    pub(super) fn builtin(&self, layer: &Layer, name: &str, active_skills: bool) -> LayerSource {
        let kind = layer.source.kind();
        let Some(text) = builtin::text(name) else {
            return plain(Content::Absent(format!("there is no built-in text `{name}`")), kind, None);
        };
        let mut text = fill(text.trim_end(), &[("soul", &self.snapshot.config.agent.soul)]);
        if let Some(skills) = active_skills.then(|| self.active_skills()).flatten() {
            text = format!("{text}\n\n{skills}");
        }
        plain(Content::of_block(&text.into()), kind, Some(name.into()))
    }

    fn active_skills(&self) -> Option<String> {
        let skills = &self.snapshot.skills().items;
        let active: Vec<(Arc<str>, Arc<str>)> = self
            .snapshot
            .config
            .agent
            .active_skills
            .iter()
            .filter_map(|name| skills.iter().find(|skill| skill.name == **name))
            .filter(|skill| self.may_show_skill(skill))
            .map(|skill| (skill.name.as_str().into(), Arc::clone(&skill.body)))
            .collect();
        generated::active_skills(&active)
    }

    fn file_layer(
        &mut self,
        layer: &Layer,
        file: &FileSource,
    ) -> Result<(Content, Provenance), WorkspaceError> {
        let (content, description) = match self.guarded(Some(&layer.id), &file.path)? {
            GuardedRead::Text(text) => {
                // A layer with a limit of 0 tokens never becomes text in the prompt, so its first line is not read
                // either.
                let never_text = layer.fit.max_tokens == Some(0);
                let describe = if never_text { stated_description_of } else { description_of };
                (Content::of_block(&text), describe(&file.path, &text))
            }
            GuardedRead::Missing(error) if file.required => return Err(error),
            GuardedRead::Missing(_) => {
                (Content::Absent(format!("there is no `{}`", file.path)), String::new())
            }
            // The built-in text is not used either: it would reveal that the file exists.
            GuardedRead::Withheld => {
                return Ok((Content::Absent(WITHHELD.to_owned()), provenance("file", None)));
            }
        };
        Ok(self.with_builtin(layer, file, content, &description))
    }

    /// Merges a file's content with the built-in text of its layer.
    pub(super) fn with_builtin(
        &mut self,
        layer: &Layer,
        file: &FileSource,
        content: Content,
        description: &str,
    ) -> (Content, Provenance) {
        let standing_in = file.builtin.as_deref().and_then(|name| Some((name, builtin::text(name)?)));
        let (content, taken) = merge(content, standing_in.map(|(_, text)| text), layer.merge);
        let identity = matches!(layer.authority, Authority::Policy | Authority::Identity);
        if taken == Taken::Builtin && identity {
            let message = format!("there is nothing in `{}`; the built-in text is used", file.path);
            self.warnings.push(Warning {
                code: "fallback",
                layer: Some(layer.id.clone()),
                message,
                for_owner: false,
            });
        }
        let mut from = match (taken, standing_in) {
            (Taken::Builtin, Some((name, _))) => provenance("builtin", Some(name.into())),
            _ => self.file_provenance(&self.snapshot.place_of(&file.path), description),
        };
        if layer.fit.overflow == Overflow::HeadTail && !self.has_the_lines_of(&file.path, &content) {
            // A wrong line number in a truncation marker would be worse than none.
            from.read_path = None;
        }
        (content, from)
    }

    /// Whether line N of `content` is line N of the file at `path`.
    fn has_the_lines_of(&self, path: &str, content: &Content) -> bool {
        match (content, self.snapshot.file(&self.snapshot.place_of(path))) {
            (Content::Text(text), Ok(read)) => read.text.starts_with(&**text),
            _ => false,
        }
    }

    fn overlay(&mut self, layer: &Layer) -> Result<(Content, Provenance), WorkspaceError> {
        let situation = self.snapshot.config.situations.get(&self.who.occasion.situation);
        let Some(path) = situation.and_then(|situation| situation.overlay.clone()) else {
            return Ok((Content::Absent("this situation has no overlay".into()), provenance("file", None)));
        };
        match self.guarded(Some(&layer.id), &path)? {
            GuardedRead::Text(text) => {
                let from = self.file_provenance(&self.snapshot.place_of(&path), "");
                Ok((Content::of_block(&text), from))
            }
            GuardedRead::Withheld => Ok((Content::Absent(WITHHELD.to_owned()), provenance("file", None))),
            GuardedRead::Missing(_) => {
                let message = format!("the overlay `{path}` is configured, but there is no such file");
                let layer = Some(layer.id.clone());
                self.warnings.push(Warning { code: "missing_overlay", layer, message, for_owner: true });
                Ok((Content::Absent(format!("there is no `{path}`")), provenance("file", None)))
            }
        }
    }

    fn generated(&mut self, what: Generated) -> Content {
        let needs_tools = !matches!(what, Generated::Session);
        if needs_tools && self.request.tools_of == ToolsOf::Client {
            return Content::Absent("the client's program has tools of its own".into());
        }
        match what {
            Generated::Tools => generated::tools(self.tools),
            Generated::ToolsWithParameters => generated::tools_with_parameters(self.tools),
            Generated::Workflows => {
                generated::workflows(&self.workflow_lines(), self.has_tool("workflow_run"))
            }
            Generated::Skills => generated::skills(&self.skill_lines(), self.has_tool("skill_get")),
            Generated::Session => match &self.request.session_instructions {
                Some(text) => Content::of_block(text),
                None => Content::Absent("this conversation has no instructions of its own".into()),
            },
        }
    }

    fn workflow_lines(&self) -> Vec<WorkflowLine> {
        let line = |workflow: &Workflow| WorkflowLine {
            name: workflow.name.as_str().into(),
            description: single_line(&workflow.description, 1024).into(),
            parameters: workflow.signature().into_iter().map(Into::into).collect(),
        };
        let user = self.who.user.as_ref().map(|user| &*user.name);
        let may_show = |workflow: &&Workflow| workflow.is_for(self.snapshot, user, self.trust());
        self.snapshot.workflows().items.iter().filter(may_show).map(line).collect()
    }

    fn skill_lines(&self) -> Vec<SkillLine> {
        // A user's own skills reveal something about the user, so they need the same trust as per-user files.
        let user = self.who.user.as_ref().filter(|_| self.trust().permits(Trust::Inner));
        let own = user.map(|user| self.snapshot.user_skills(&user.name));
        let own = own.as_ref().map_or(&[][..], |own| &own.items);
        let line = |skill: &Skill| SkillLine {
            name: skill.name.as_str().into(),
            description: skill.description.as_str().into(),
        };
        let may_show = |skill: &&Skill| self.may_show_skill(skill);
        skills_of_user(&self.snapshot.skills().items, own).into_iter().filter(may_show).map(line).collect()
    }

    fn made(&mut self, what: Dynamic, compact: bool) -> TurnContent {
        match what {
            Dynamic::Runtime => TurnText::new(&runtime(&self.who.occasion, self.trust())).into(),
            Dynamic::MemoryMenu => TurnContent::Menu(Menu {
                trust: self.trust(),
                entries: self.snapshot.menu(self.trust(), self.counter),
                moved: Vec::new(),
                remaining: None,
                tools: MemoryTools {
                    search: self.has_tool("memory_search"),
                    get: self.has_tool("memory_get"),
                },
            }),
            Dynamic::Situation => {
                self.repeatable = false;
                let tools = self.tools.iter().map(|tool| tool.name.clone()).collect();
                let report = situation_report(self.request.state(), &self.who.occasion.now, tools);
                situation(&report, &Marker::from_random_bytes(self.request.marker), compact).into()
            }
        }
    }

    fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    fn file_provenance(&self, path: &str, description: &str) -> Provenance {
        Provenance {
            kind: "file",
            origin: Some(path.into()),
            // Only a path that needs no escaping can be passed to the tool as written.
            read_path: (self.has_tool("memory_get") && single_line(path, usize::MAX) == path)
                .then(|| path.into()),
            description: description.into(),
        }
    }
}

pub(super) fn plain(content: Content, kind: &'static str, origin: Option<Arc<str>>) -> LayerSource {
    LayerSource { content, kind, origin }
}

pub(super) fn provenance(kind: &'static str, origin: Option<Arc<str>>) -> Provenance {
    Provenance { kind, origin, read_path: None, description: "".into() }
}
