//! Finds the names that a template reads from its context, without rendering it.

use std::sync::Arc;

use minijinja::Environment;

use super::engine;
use super::failure::{engine_failure, from_parse, unwinding};
use crate::diagnostic::TemplateError;

/// The names that `source` reads from its context, in order, with their attributes: `steps.fetch.output`. Excludes
/// names it sets itself, and included files.
///
/// ```
/// use foreword_prompt::jinja::names_used;
/// let names = names_used("a.md", &"{% set n = 2 %}{{ topic }} {{ steps.fetch.output }} {{ n }}".into())?;
/// assert_eq!(names, ["steps.fetch.output", "topic"]);
/// # Ok::<(), foreword_prompt::diagnostic::TemplateError>(())
/// ```
///
/// # Errors
/// If it can't be parsed.
pub fn names_used(name: &str, source: &Arc<str>) -> Result<Vec<String>, TemplateError> {
    let found = unwinding(|| {
        let mut env = Environment::empty();
        env.set_syntax(engine::syntax()?);
        env.add_template_owned(name.to_owned(), source.to_string())?;
        let names = env.get_template(name)?.undeclared_variables(true);
        Ok(names)
    });
    match found {
        Ok(Ok(names)) => {
            let mut names: Vec<String> = names.into_iter().collect();
            names.sort();
            Ok(names)
        }
        Ok(Err(error)) => Err(from_parse(name, source, &error)),
        Err(reason) => Err(engine_failure(name, source, &reason)),
    }
}
