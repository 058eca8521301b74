//! The Jinja dialect: strict, and safe for untrusted templates.
//!
//! A template is compiled once, together with every file it includes, and can be rendered any number of times, from any
//! thread. It sees only the [`RenderContext`]. An unknown variable is an error, never blank; every failure is a
//! [`TemplateError`] with file, line and column. Nothing is escaped (a prompt is not HTML) and the trailing newline is
//! kept.
//!
//! [`Limits`] bounds the cost: steps, and, since one step can double a string, also the bytes built. A template that
//! exceeds a limit fails quickly with an error, without harm to the process.
//!
//! Reads no files: includes come from the caller's [`Loader`]. Caches nothing.
//!
//! Safety: `nesting` rejects what would overflow the parser's stack, `parts` reads all files, `guard` rewrites them to
//! use the checked versions in `operators`, `filters`, `methods` and `functions`, which ask the `meter` first, and
//! `failure` traces errors back to the author's text.

mod context;
mod engine;
mod failure;
mod filters;
mod forecast;
mod functions;
mod guard;
mod join;
mod limits;
mod meter;
mod methods;
mod names;
mod nesting;
mod operators;
mod parts;
mod slices;
mod source_map;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use minijinja::Environment;

pub use self::context::{RESERVED_NAMES, RenderContext};
pub use self::limits::Limits;
pub use self::names::names_used;
use self::parts::Part;
use crate::diagnostic::TemplateError;
pub use minijinja::Value;

/// Loads the text of an included file: `Ok(None)` if it does not exist, `Err` with the reason if it cannot be read. The
/// name is a relative path with `/` as the separator; the loader must keep it below a root.
pub type Loader<'l> = &'l dyn Fn(&str) -> Result<Option<Arc<str>>, String>;

/// A compiled template with all its files. Share it in an [`Arc`].
#[derive(Debug)]
pub struct Compiled {
    env: Environment<'static>,
    parts: Vec<Part>,
    sources: Vec<(String, Arc<str>)>,
}

/// Compiles the template `name` and everything it includes, imports or extends.
///
/// ```
/// use std::sync::Arc;
/// use foreword_prompt::jinja::{Limits, RenderContext, Value, compile};
///
/// let loader = |name: &str| Ok((name == "sign.md").then(|| Arc::from("— {{ agent_name }}")));
/// let source = Arc::from("User={{ user_id }} Locale={{ ctx.locale }} {% include 'sign.md' %}\n");
/// let template = compile("CHAT_AGENT.md", source, &loader, &Limits::default())?;
///
/// let context = Value::from_pairs([("user_id", "u-42"), ("locale", "en-US")]);
/// let prompt = template.render(&RenderContext::new(context, "ChatAgent", "Agent"))?;
/// assert_eq!(prompt, "User=u-42 Locale=en-US — ChatAgent\n");
/// # Ok::<(), foreword_prompt::diagnostic::TemplateError>(())
/// ```
///
/// # Errors
/// If a file can't be parsed, is missing, or includes itself; if a filter or test is unknown; if a file is named by
/// anything but a literal.
pub fn compile(
    name: &str,
    source: Arc<str>,
    loader: Loader<'_>,
    limits: &Limits,
) -> Result<Compiled, TemplateError> {
    let parts::Parts { env, parts } = parts::load(name, source, loader, limits)?;
    let sources = parts.iter().map(|part| (part.name.clone(), part.source.clone())).collect();
    Ok(Compiled { env, parts, sources })
}

impl Compiled {
    /// The text for one context.
    ///
    /// ```
    /// # use foreword_prompt::jinja::{Limits, RenderContext, Value, compile};
    /// let template = compile("a.md", "Hi {{ usr_id }}".into(), &|_| Ok(None), &Limits::default())?;
    /// let context = Value::from_pairs([("user_id", "u-42")]);
    /// let error = template.render(&RenderContext::new(context, "ChatAgent", "Agent")).unwrap_err();
    /// assert_eq!(error.to_string(), "a.md:1:7: unknown variable `usr_id`");
    /// assert_eq!(error.help.as_deref(), Some("did you mean `user_id`?"));
    /// # Ok::<(), foreword_prompt::diagnostic::TemplateError>(())
    /// ```
    ///
    /// # Errors
    /// If a variable is unknown, an operation does not fit its values, or a limit is reached.
    pub fn render(&self, context: &RenderContext) -> Result<String, TemplateError> {
        let (name, source) = self.parts().first().map_or(("", None), |(name, source)| (name, Some(source)));
        let rendered = failure::unwinding(|| self.env.get_template(name)?.render(context.root().clone()));
        match rendered {
            Ok(text) => text.map_err(|error| failure::from_engine(&self.parts, &error, Some(context))),
            Err(reason) => Err(failure::engine_failure(name, source.unwrap_or(&Arc::from("")), &reason)),
        }
    }

    /// The files it was compiled from, the main file first, for cache invalidation.
    #[must_use]
    pub fn parts(&self) -> &[(String, Arc<str>)] {
        &self.sources
    }
}
