//! The text of template layers: resolves what a template refers to and nothing else, and renders it.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_prompt::bracket::{Mode, Template, Values, Variable};
use foreword_prompt::content::Content;
use foreword_prompt::diagnostic::{TemplateError, position_of};
use foreword_prompt::jinja::{Loader, RenderContext};
use foreword_prompt::layer::{Dialect, Layer, LayerId};
use foreword_prompt::prompt::Warning;
use foreword_prompt::trust::Trust;

use super::Once;
use super::gather::{Found, Gatherer, plain};
use super::template_text::TemplateText;
use crate::error::WorkspaceError;
use crate::prompts_root::InstructionSource;
use crate::variables::file::{AllowedPaths, read_variable_path};
use crate::variables::git::Git;
use crate::variables::system;

impl Gatherer<'_> {
    /// The text of a template layer.
    pub(super) fn template(
        &mut self,
        layer: &Layer,
        path: Option<&str>,
        dialect: Option<Dialect>,
    ) -> Result<Found, WorkspaceError> {
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
            Dialect::Bracket => self.bracket(Some(&layer.id), &name, text, Mode::Bracket)?,
            Dialect::BracketCompat => self.bracket(Some(&layer.id), &name, text, Mode::Compat)?,
        };
        Ok(plain(Content::exactly(rendered.into()), kind, Some(origin)))
    }

    /// A template outside any blueprint.
    pub(super) fn render_once(&mut self, once: Once<'_>) -> Result<String, WorkspaceError> {
        match once.dialect {
            Dialect::Bracket => self.bracket(None, once.name, once.text, Mode::Bracket),
            Dialect::BracketCompat => self.bracket(None, once.name, once.text, Mode::Compat),
            Dialect::Jinja => {
                let loader = |name: &str| match once.folder.map(|folder| folder.read(name)) {
                    Some(Ok(file)) => Ok(Some(file.text)),
                    Some(Err(error)) if !error.is_missing_file() => Err(error.to_string()),
                    _ => Ok(None),
                };
                self.jinja(once.name, &once.text, &loader)
            }
        }
    }

    fn jinja(&self, name: &str, text: &Arc<str>, loader: Loader<'_>) -> Result<String, WorkspaceError> {
        let compiled = self.place.templates.compile(name, text, loader)?;
        Ok(compiled.render(&self.render_context())?)
    }

    fn bracket(
        &mut self,
        layer: Option<&LayerId>,
        name: &str,
        text: Arc<str>,
        mode: Mode,
    ) -> Result<String, WorkspaceError> {
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
        let values = self.values(&template, layer, name, mode)?;
        Ok(template.render(&values))
    }

    fn values(
        &mut self,
        template: &Template,
        layer: Option<&LayerId>,
        name: &str,
        mode: Mode,
    ) -> Result<Values, WorkspaceError> {
        let mut by_kind: BTreeMap<&str, Vec<&Variable>> = BTreeMap::new();
        for variable in template.references() {
            by_kind.entry(variable.kind()).or_default().push(variable);
        }
        let mut values = Values::new();
        let cwd = self.place.cwd(self.request);
        for (kind, variables) in by_kind {
            let names: Vec<&str> = variables.iter().map(|variable| variable.name()).collect();
            let found = match kind {
                "system" => system::values(&names, self.request.now.timestamp()),
                "git" => Git::default().values(&names, &cwd),
                "prompt" => {
                    names.iter().map(|name| ((*name).to_owned(), self.prompt_variable(name))).collect()
                }
                "file" => self
                    .file_variables(&names, layer, mode)
                    .map_err(|error| at_its_tag(error, template, name))?,
                _ => BTreeMap::new(),
            };
            // What the world says may be different next time, whatever the workspace's files say.
            self.repeatable &= kind == "prompt";
            for variable in variables {
                let value = found.get(variable.name()).cloned().flatten();
                values.set(variable.clone(), value.map(Into::into));
            }
        }
        Ok(values)
    }

    fn prompt_variable(&self, name: &str) -> Option<String> {
        let occasion = &self.who.occasion;
        match name {
            "cwd" => Some(self.place.cwd_name(self.request)),
            "model" => Some(occasion.model.to_string()),
            "conversation_id" => occasion.conversation.as_deref().map(str::to_owned),
            _ => None,
        }
    }

    fn file_variables(
        &mut self,
        names: &[&str],
        layer: Option<&LayerId>,
        mode: Mode,
    ) -> Result<crate::variables::Values, WorkspaceError> {
        // `bracket-compat`, to the letter: a file that can't be read does not exist.
        let forgiving = mode == Mode::Compat;
        let root = match self.place.cwd_root(self.request) {
            Err(_) if forgiving => return Ok(BTreeMap::new()),
            root => root?,
        };
        let allowed = AllowedPaths::new(self.snapshot.config.prompt.allowed_paths.iter().map(Into::into))?;
        let mut values = crate::variables::Values::new();
        for path in names {
            let may_show = if path.starts_with('/') {
                Ok(self.may_show_absolute(path))
            } else {
                self.may_show_below(&root, path, Trust::Full)
            };
            match may_show {
                Ok(true) => {}
                Ok(false) => {
                    self.warn_withheld(layer, &format!("[file:{path}]"));
                    values.insert((*path).to_owned(), None);
                    continue;
                }
                Err(_) if forgiving => {
                    values.insert((*path).to_owned(), None);
                    continue;
                }
                Err(error) => return Err(error),
            }
            let value = match read_variable_path(&root, &allowed, path) {
                Ok(file) => Some(file.text.to_string()),
                Err(error) if forgiving || error.is_missing_file() => None,
                Err(error) => return Err(error),
            };
            values.insert((*path).to_owned(), value);
        }
        Ok(values)
    }

    /// The text of an agent's instructions: inline, from a file, or from the file its name stands for.
    pub(super) fn instructions(&mut self, layer: &Layer) -> Result<Found, WorkspaceError> {
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
        let store = self.snapshot.prompt_store(self.place)?;
        let withheld = || plain(Content::Absent("withheld: not for this person".to_owned()), "file", None);
        if !self.may_show_below(store.root(), &path, Trust::Public)? {
            self.warn_withheld(Some(&layer.id), &path);
            return Ok(withheld());
        }
        let template = store.template(&path)?;
        for (part, _) in template.parts() {
            if !self.may_show_below(store.root(), part, Trust::Public)? {
                self.warn_withheld(Some(&layer.id), part);
                return Ok(withheld());
            }
        }
        let text = template.render(&self.render_context())?;
        Ok(plain(Content::exactly(text.trim().into()), "file", Some(path.into())))
    }

    fn render_context(&self) -> RenderContext {
        let (agent, class) = (&self.who.occasion.agent, &self.snapshot.config.agent.class);
        match &self.request.ordered_context {
            Some(ordered) => RenderContext::from_serialize(&**ordered, agent, class),
            None => RenderContext::from_serialize(&*self.request.context, agent, class),
        }
    }
}

/// The error of a file variable, told at the tag that names the file.
fn at_its_tag(error: WorkspaceError, template: &Template, name: &str) -> WorkspaceError {
    let text = Arc::clone(template.source());
    let place = match &error {
        WorkspaceError::Access(access) => Some(access.place.file.as_str()),
        _ => None,
    };
    // The same words may stand in the prose around it.
    let is_tag = |at: usize, file: &str| {
        text[..at].trim_end().ends_with("file:") && text[at + file.len()..].trim_start().starts_with(']')
    };
    let tag = |file| text.match_indices(file).map(|(at, _)| at).find(|at| is_tag(*at, file));
    let Some(start) = place.and_then(tag) else { return error };
    let end = start + place.map_or(0, str::len);
    TemplateError {
        file: name.into(),
        at: position_of(&text, start),
        message: error.to_string(),
        help: error.help(),
        span: Some(start..end),
        text,
    }
    .into()
}
