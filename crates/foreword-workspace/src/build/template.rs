//! The text of template layers: resolves the variables and includes of a template, and renders it.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_prompt::bracket::{Mode, Template, Values, Variable};
use foreword_prompt::content::Content;
use foreword_prompt::diagnostic::position_of;
use foreword_prompt::jinja::{Compiled, Loader, RenderContext};
use foreword_prompt::last_good::SourceVersion;
use foreword_prompt::layer::{Dialect, Layer, LayerId};
use foreword_prompt::prompt::Warning;
use foreword_prompt::trust::Trust;

use super::TemplateInput;
use super::gather::{Gatherer, LayerSource, plain};
use super::sources::{Replacement, SourceFailure};
use super::template_text::TemplateText;
use crate::error::WorkspaceError;
use crate::prompts_root::InstructionSource;
use crate::variables::git::Git;
use crate::variables::system;
use crate::variables::template_files::{TemplateFiles, UNREADABLE_FILE, unreadable};

impl Gatherer<'_> {
    /// Renders a template layer.
    pub(super) fn template(
        &mut self,
        layer: &Layer,
        path: Option<&str>,
        dialect: Option<Dialect>,
    ) -> Result<LayerSource, WorkspaceError> {
        let dialect = dialect.unwrap_or(self.snapshot.config.prompt.dialect);
        let Some(TemplateText { name, text, folder, kind, origin }) = self.template_text(layer, path)? else {
            let withheld = Content::Absent("withheld: the template is not for this person".to_owned());
            return Ok(plain(withheld, "template", None));
        };
        let rendered = match dialect {
            Dialect::Jinja => {
                let loader = |name: &str| self.included(&format!("{folder}{name}"));
                self.jinja(&name, &text, &loader)?
            }
            Dialect::Bracket => self.bracket(Some(&layer.id), &name, text, Mode::Bracket),
            Dialect::BracketCompat => self.bracket(Some(&layer.id), &name, text, Mode::Compat),
        };
        Ok(plain(Content::exactly(rendered.into()), kind, Some(origin)))
    }

    /// Renders a template outside any blueprint.
    pub(super) fn render_once(&mut self, template: TemplateInput<'_>) -> Result<String, WorkspaceError> {
        match template.dialect {
            Dialect::Bracket => Ok(self.bracket(None, template.name, template.text, Mode::Bracket)),
            Dialect::BracketCompat => Ok(self.bracket(None, template.name, template.text, Mode::Compat)),
            Dialect::Jinja => {
                let loader = |name: &str| match template.folder.map(|folder| folder.read(name)) {
                    Some(Ok(file)) => Ok(Some(file.text)),
                    Some(Err(error)) if !error.is_missing_file() => Err(error.to_string()),
                    _ => Ok(None),
                };
                self.jinja(template.name, &template.text, &loader)
            }
        }
    }

    fn jinja(&self, name: &str, text: &Arc<str>, loader: Loader<'_>) -> Result<String, WorkspaceError> {
        let compiled = self.dir.templates.compile(name, text, loader)?;
        Ok(compiled.render(&self.render_context())?)
    }

    fn bracket(&mut self, layer: Option<&LayerId>, name: &str, text: Arc<str>, mode: Mode) -> String {
        let template = Template::parse(text, mode);
        let source = template.source();
        for problem in template.diagnostics() {
            let at = position_of(source, problem.span.start);
            let help = problem.help.as_deref().map(|help| format!(": {help}")).unwrap_or_default();
            let message = format!("{name}:{}:{}: {}{help}", at.line, at.column, problem.message);
            self.warnings.push(Warning {
                code: problem.code,
                layer: layer.cloned(),
                message,
                for_owner: true,
            });
        }
        let values = self.values(&template, layer, name);
        template.render(&values)
    }

    fn values(&mut self, template: &Template, layer: Option<&LayerId>, name: &str) -> Values {
        let mut by_kind: BTreeMap<&str, Vec<&Variable>> = BTreeMap::new();
        for variable in template.references() {
            by_kind.entry(variable.kind()).or_default().push(variable);
        }
        let mut values = Values::new();
        let cwd = self.dir.cwd(self.request);
        for (kind, variables) in by_kind {
            let names: Vec<&str> = variables.iter().map(|variable| variable.name()).collect();
            let found = match kind {
                "system" => system::values(&names, self.request.now.timestamp()),
                "git" => Git::default().values(&names, &cwd),
                "prompt" => {
                    names.iter().map(|name| ((*name).to_owned(), self.prompt_variable(name))).collect()
                }
                "file" => self.file_variables(&names, template, name, layer),
                _ => BTreeMap::new(),
            };
            // Values from outside the workspace may change although no file does.
            self.repeatable &= kind == "prompt";
            for variable in variables {
                let value = found.get(variable.name()).cloned().flatten();
                values.set(variable.clone(), value.map(Into::into));
            }
        }
        values
    }

    fn prompt_variable(&mut self, name: &str) -> Option<String> {
        self.has_conversation_id |= name == "conversation_id";
        let occasion = &self.who.occasion;
        match name {
            "cwd" => Some(self.dir.cwd_name(self.request)),
            "model" => Some(occasion.model.to_string()),
            "conversation_id" => occasion.conversation.as_deref().map(str::to_owned),
            _ => None,
        }
    }

    /// Reads the files that a template names. An unreadable file counts as missing, with a warning: its text is empty,
    /// and `[if file:…]` is false.
    fn file_variables(
        &mut self,
        names: &[&str],
        template: &Template,
        name: &str,
        layer: Option<&LayerId>,
    ) -> crate::variables::VariableValues {
        let files = self.dir.template_files(self.request, &self.snapshot.config);
        let mut values = crate::variables::VariableValues::new();
        for path in names {
            let value = self.file_variable(files.as_ref(), path, layer).unwrap_or_else(|error| {
                let note = unreadable(template, name, path, &error);
                let help = note.help.as_deref().map(|help| format!(": {help}")).unwrap_or_default();
                let message = format!("{name}:{}:{}: {}{help}", note.at.line, note.at.column, note.message);
                let layer = layer.cloned();
                self.sources.unreadable.extend(layer.clone().map(|layer| SourceFailure {
                    layer,
                    source: (*path).into(),
                    error,
                    replacement: Replacement::Skipped,
                }));
                self.warnings.push(Warning { code: UNREADABLE_FILE, layer, message, for_owner: true });
                None
            });
            values.insert((*path).to_owned(), value);
        }
        values
    }

    fn file_variable(
        &mut self,
        files: Result<&TemplateFiles, &WorkspaceError>,
        path: &str,
        layer: Option<&LayerId>,
    ) -> Result<Option<String>, WorkspaceError> {
        let files = files.map_err(Clone::clone)?;
        let may_show = if path.starts_with('/') {
            self.may_show_absolute(path)
        } else {
            self.may_show_below(&files.root, path, Trust::Full)?
        };
        if !may_show {
            self.warn_withheld(layer, &format!("[file:{path}]"));
            return Ok(None);
        }
        files.read(path)
    }

    /// The agent's instructions: inline, from a configured file, or from the file derived from the agent's name.
    pub(super) fn instructions(&mut self, layer: &Layer) -> Result<LayerSource, WorkspaceError> {
        let config = &self.snapshot.config.prompt;
        let source = InstructionSource::choose(
            config.instructions.as_deref(),
            config.instruction_file.as_deref(),
            &self.who.occasion.agent,
        )?;
        let path = match source {
            InstructionSource::NoPrompt => return Ok(plain(Content::Empty, "text", None)),
            InstructionSource::Inline(text) => {
                return Ok(plain(Content::exactly(text.trim().into()), "text", None));
            }
            InstructionSource::File(path) | InstructionSource::AutoFile(path) => path,
        };
        let withheld = || plain(Content::Absent("withheld: not for this person".to_owned()), "file", None);
        let Some(template) = self.prompt_file(layer, &path)? else { return Ok(withheld()) };
        let text = template.render(&self.render_context())?;
        Ok(plain(Content::exactly(text.trim().into()), "file", Some(path.into())))
    }

    /// A file below the prompts root, compiled with its includes. `None` if this user may not read all of them.
    fn prompt_file(&mut self, layer: &Layer, path: &str) -> Result<Option<Arc<Compiled>>, WorkspaceError> {
        let folder = self.dir.prompts_folder(&self.snapshot.config)?;
        let source = |part: &str| format!("{folder}/{part}");
        self.layer_reads.open(&source(path));
        if let Some(version) = self.last_good(&source(path)) {
            let text = Arc::clone(&version.text);
            // Includes come from the last good versions too.
            let load =
                |part: &str| Ok(self.last_good(&source(part)).map(|version| Arc::clone(&version.text)));
            let template = self.dir.templates.compile(path, &text, &load)?;
            let versions = template.parts().iter().filter_map(|(part, _)| self.last_good(&source(part)));
            let may_show = versions.into_iter().all(|version| self.may_show_version(version));
            return Ok(may_show.then_some(template));
        }
        let store = self.snapshot.prompt_store(self.dir)?;
        if !self.may_show_below(store.root(), path, Trust::Public)? {
            self.warn_withheld(Some(&layer.id), path);
            return Ok(None);
        }
        let template = store.template(path)?;
        for (part, text) in template.parts() {
            if !self.may_show_below(store.root(), part, Trust::Public)? {
                self.warn_withheld(Some(&layer.id), part);
                return Ok(None);
            }
            let resolved = store.root().locate(part).unwrap_or_else(|_| part.clone());
            self.layer_reads.read(SourceVersion {
                source: source(part).into(),
                resolved: source(&resolved).into(),
                text: Arc::clone(text),
            });
        }
        Ok(Some(template))
    }

    fn render_context(&self) -> RenderContext {
        let (agent, class) = (&self.who.occasion.agent, &self.snapshot.config.agent.class);
        RenderContext::from_serialize(&*self.request.context, agent, class)
    }
}
