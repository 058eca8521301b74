//! Checks a template before it is stored or used, without rendering it.

use std::sync::Arc;

use foreword_prompt::bracket::{Mode, Template, Variable};
use foreword_prompt::diagnostic::{Severity, TemplateError, position_of};
use foreword_prompt::jinja::{Limits, RenderContext, compile};
use foreword_prompt::layer::Dialect;
use serde_json::{Map, Value};

use crate::build::stored_includes;
use crate::check::placeholder_values::request_time_values;
use crate::config::Config;
use crate::document::DocumentError;
use crate::snapshot::Snapshot;
use crate::variables::template_files::unreadable;
use crate::workspace::WorkspaceDir;

/// The problems of a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateProblems {
    /// Problems that prevent its use.
    pub errors: Vec<DocumentError>,
    /// Things that work, but are probably unintended.
    pub warnings: Vec<DocumentError>,
}

/// The problems of the template called `name`, for `foreword check`, `foreword template set`, the HTTP routes and the
/// editor. Jinja includes are resolved beside the configured template file, and files of a bracket template below the
/// workspace, as in a build.
#[must_use]
pub fn template_problems(
    snapshot: &Snapshot,
    dir: &WorkspaceDir,
    name: &str,
    text: &Arc<str>,
    dialect: Dialect,
) -> TemplateProblems {
    let mode = match dialect {
        Dialect::Bracket => Mode::Bracket,
        Dialect::BracketCompat => Mode::Compat,
        Dialect::Jinja => return jinja(snapshot, name, text),
    };
    let template = Template::parse(Arc::clone(text), mode);
    let mut found = bracket(name, &template);
    found.warnings.extend(unreadable_files(&snapshot.config, dir, name, &template));
    found
}

/// A warning for each `[file:…]` that exists and cannot be read.
fn unreadable_files(
    config: &Config,
    dir: &WorkspaceDir,
    name: &str,
    template: &Template,
) -> Vec<DocumentError> {
    let files = dir.template_files_of_workspace(config);
    let is_file = |variable: &&Variable| variable.kind() == "file";
    let problem = |variable: &Variable| {
        let path = variable.name();
        let read = files.as_ref().map_err(Clone::clone).and_then(|files| files.read(path));
        read.err().map(|error| unreadable(template, name, path, &error))
    };
    template.references().iter().filter(is_file).filter_map(problem).collect()
}

/// The snapshot of the first agent that uses the stored template, which determines its dialect; the first agent's if
/// none does.
#[must_use]
pub fn template_view(snapshot: &Arc<Snapshot>) -> Arc<Snapshot> {
    let takes_it = |view: &&Arc<Snapshot>| view.config.builds_from_stored_template();
    Arc::clone(snapshot.of_all_agents().find(takes_it).unwrap_or(snapshot))
}

/// Notes about storing `text` as the workspace's template, besides its problems.
#[must_use]
pub fn template_notes(config: &Config, text: &str) -> Vec<String> {
    let mut notes = Vec::new();
    if !config.builds_from_stored_template() {
        let name = &config.blueprint.name;
        notes.push(format!("blueprint `{name}` does not use the stored template, so no prompt changes"));
    }
    if text.trim().is_empty() {
        notes.push("the template is blank: no system prompt is sent".to_owned());
    }
    notes
}

fn bracket(name: &str, template: &Template) -> TemplateProblems {
    let mut found = TemplateProblems::default();
    let text = template.source();
    for problem in template.diagnostics() {
        let note = DocumentError {
            file: name.to_owned(),
            at: position_of(text, problem.span.start),
            message: problem.message.clone(),
            help: problem.help.clone(),
            span: problem.span.clone(),
            text: Arc::clone(text),
        };
        match problem.severity {
            Severity::Error => found.errors.push(note),
            Severity::Warning => found.warnings.push(note),
        }
    }
    found
}

fn jinja(snapshot: &Snapshot, name: &str, text: &Arc<str>) -> TemplateProblems {
    let folder = stored_includes(snapshot.config.prompt.template_file.as_deref());
    let load = |include: &str| match snapshot.file(&format!("{folder}{include}")) {
        Ok(file) => Ok(Some(file.text)),
        Err(error) if error.is_missing_file() => Ok(None),
        Err(error) => Err(error.to_string()),
    };
    match compile(name, Arc::clone(text), &load, &Limits::default()) {
        Ok(template) => {
            let agent = &snapshot.config.agent;
            let render = |context: &Map<String, Value>| {
                template.render(&RenderContext::from_serialize(context, &agent.name, &agent.class)).err()
            };
            TemplateProblems { errors: Vec::new(), warnings: request_time_values(render) }
        }
        Err(error) => TemplateProblems { errors: vec![document(error)], warnings: Vec::new() },
    }
}

fn document(error: TemplateError) -> DocumentError {
    DocumentError {
        file: error.file.into(),
        at: error.at,
        message: error.message,
        help: error.help,
        span: error.span.unwrap_or_default(),
        text: error.text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Environment, Workspace};

    fn check(dialect: Dialect, text: &str, errors: usize, warnings: usize) {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), Environment::default()).unwrap();
        let found = template_problems(&workspace.snapshot(), workspace.dir(), "new", &text.into(), dialect);
        assert_eq!((found.errors.len(), found.warnings.len()), (errors, warnings), "{found:?}");
    }

    #[test]
    fn invalid_templates_are_refused_and_unusual_ones_noted() {
        check(Dialect::Bracket, "You are kind. [system:date]", 0, 0);
        check(Dialect::Bracket, "[sytem:date]", 0, 1);
        check(Dialect::Jinja, "{{ agent_name }}", 0, 0);
        check(Dialect::Jinja, "{{ ctx.name }}", 0, 1);
        check(Dialect::Jinja, "{% if %}", 1, 0);
        check(Dialect::Jinja, "{% include 'gone.md' %}", 1, 0);
    }
}
