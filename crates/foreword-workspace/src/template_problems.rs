//! What is wrong with a template before it is stored or used: everything that can be known without rendering it.

use std::sync::Arc;

use foreword_prompt::bracket::{Mode, Template, Variable};
use foreword_prompt::diagnostic::{Severity, TemplateError, position_of};
use foreword_prompt::jinja::{Limits, compile};
use foreword_prompt::layer::Dialect;

use crate::build::stored_includes;
use crate::config::Config;
use crate::document::DocumentError;
use crate::snapshot::Snapshot;
use crate::variables::template_files::unreadable;
use crate::workspace::Place;

/// What was found in a template.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateProblems {
    /// What keeps it from being used.
    pub errors: Vec<DocumentError>,
    /// What works, but is probably not meant.
    pub warnings: Vec<DocumentError>,
}

/// The problems of a template called `name`. Every check of a template lists these: `foreword check`, `foreword template set`,
/// the routes and the editor. What a Jinja template includes is looked for beside the configured template file, and the files
/// of a bracket template below the workspace, as a build would.
#[must_use]
pub fn template_problems(
    snapshot: &Snapshot,
    place: &Place,
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
    found.warnings.extend(unreadable_files(&snapshot.config, place, name, &template));
    found
}

/// A warning for each `[file:…]` that is there and can't be read.
fn unreadable_files(config: &Config, place: &Place, name: &str, template: &Template) -> Vec<DocumentError> {
    let files = place.template_files_of_workspace(config);
    let is_file = |variable: &&Variable| variable.kind() == "file";
    let problem = |variable: &Variable| {
        let path = variable.name();
        let read = files.as_ref().map_err(Clone::clone).and_then(|files| files.read(path));
        read.err().map(|error| unreadable(template, name, path, &error))
    };
    template.references().iter().filter(is_file).filter_map(problem).collect()
}

/// The workspace as the first agent sees it whose prompts are made from the stored template, whose dialect it is then in; as
/// the first of all if there is none.
#[must_use]
pub fn template_view(snapshot: &Arc<Snapshot>) -> Arc<Snapshot> {
    let takes_it = |view: &&Arc<Snapshot>| view.config.builds_from_stored_template();
    Arc::clone(snapshot.of_all_agents().find(takes_it).unwrap_or(snapshot))
}

/// What to know about storing `text` as the template of a workspace with this configuration, besides what is wrong in it.
#[must_use]
pub fn template_notes(config: &Config, text: &str) -> Vec<String> {
    let mut notes = Vec::new();
    if !config.builds_from_stored_template() {
        let name = &config.blueprint.name;
        notes.push(format!("blueprint `{name}` builds from no stored template, so no prompt changes"));
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
        Ok(_) => TemplateProblems::default(),
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
        let found = template_problems(&workspace.snapshot(), workspace.place(), "new", &text.into(), dialect);
        assert_eq!((found.errors.len(), found.warnings.len()), (errors, warnings), "{found:?}");
    }

    #[test]
    fn a_template_that_can_t_be_parsed_is_refused_and_one_that_looks_odd_is_noted() {
        check(Dialect::Bracket, "You are kind. [system:date]", 0, 0);
        check(Dialect::Bracket, "[sytem:date]", 0, 1);
        check(Dialect::Jinja, "{{ ctx.name }}", 0, 0);
        check(Dialect::Jinja, "{% if %}", 1, 0);
        check(Dialect::Jinja, "{% include 'gone.md' %}", 1, 0);
    }
}
