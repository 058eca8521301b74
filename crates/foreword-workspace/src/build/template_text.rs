//! Finds the template of a layer: a file of its own, the one that was stored, the configured file, or the default.

use std::sync::Arc;

use foreword_prompt::bracket::DEFAULT_TEMPLATE;
use foreword_prompt::last_good::{STORED_TEMPLATE, SourceVersion};
use foreword_prompt::layer::Layer;
use foreword_prompt::stored::StoredTemplate;
use foreword_prompt::text::normalise_line_ends;

use super::gather::Gatherer;
use super::guarded::Guarded;
use crate::error::WorkspaceError;

/// The name of the template nobody has replaced yet, in messages.
const BUILT_IN_TEMPLATE: &str = "template-default";
/// The folder that a stored template includes from if no file is configured.
const STORED_INCLUDES: &str = "prompts/";

/// A template before it is rendered.
pub(super) struct TemplateText {
    /// What it is called in messages.
    pub(super) name: Arc<str>,
    pub(super) text: Arc<str>,
    /// Where its includes are: beside the template, for a prompt may not pull in the rest of the workspace.
    pub(super) folder: String,
    pub(super) kind: &'static str,
    /// What it is called in reports.
    pub(super) origin: Arc<str>,
}

impl TemplateText {
    fn built_in() -> Self {
        let name: Arc<str> = BUILT_IN_TEMPLATE.into();
        let (text, folder) = (DEFAULT_TEMPLATE.into(), String::new());
        Self { origin: Arc::clone(&name), name, text, folder, kind: "template" }
    }

    fn file(path: &str, text: Arc<str>) -> Self {
        let name: Arc<str> = path.into();
        Self { origin: Arc::clone(&name), name, text, folder: folder_of(path), kind: "template" }
    }

    fn stored(template: &StoredTemplate, configured: Option<&str>) -> Self {
        Self {
            name: stored_template_name(template.version).into(),
            text: normalise_line_ends(&template.text).into(),
            folder: stored_includes(configured),
            kind: "stored",
            origin: format!("template v{}", template.version).into(),
        }
    }
}

/// Where a stored template's includes are: beside the configured file it replaces.
pub(crate) fn stored_includes(configured: Option<&str>) -> String {
    configured.map_or_else(|| STORED_INCLUDES.to_owned(), folder_of)
}

fn folder_of(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"))
}

/// What a stored template is called in messages.
pub(crate) fn stored_template_name(version: u64) -> String {
    format!("stored template v{version}")
}

/// A stored template that was good once.
fn version_of(good: &SourceVersion) -> Option<StoredTemplate> {
    Some(StoredTemplate { version: good.resolved.parse().ok()?, text: Arc::clone(&good.text) })
}

impl Gatherer<'_> {
    /// The template of a layer: its own file, else the one that was stored, else the configured file, else the default.
    /// `None` if it is not for this person.
    pub(super) fn template_text(
        &mut self,
        layer: &Layer,
        path: Option<&str>,
    ) -> Result<Option<TemplateText>, WorkspaceError> {
        let configured = self.snapshot.config.prompt.template_file.as_deref();
        if path.is_none()
            && let Some(stored) = self.request.stored.as_ref().and_then(|stored| stored.template())
        {
            // It stands for the configured file, so it is for the same people.
            if let Some(path) = configured
                && !self.may_show(&self.snapshot.place_of(path))?
            {
                self.warn_withheld(Some(&layer.id), path);
                return Ok(None);
            }
            self.layer_reads.open(STORED_TEMPLATE);
            let stored =
                self.last_good(STORED_TEMPLATE).and_then(version_of).unwrap_or_else(|| stored.clone());
            self.versions.template = Some(stored.version);
            let (source, resolved) = (STORED_TEMPLATE.into(), stored.version.to_string().into());
            self.layer_reads.read(SourceVersion { source, resolved, text: Arc::clone(&stored.text) });
            return Ok(Some(TemplateText::stored(&stored, configured)));
        }
        let Some(path) = path.or(configured) else { return Ok(Some(TemplateText::built_in())) };
        match self.guarded(Some(&layer.id), path)? {
            Guarded::Text(text) => Ok(Some(TemplateText::file(path, text))),
            Guarded::Missing(error) => Err(error),
            Guarded::Withheld => Ok(None),
        }
    }
}
