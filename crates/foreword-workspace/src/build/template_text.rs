//! Finds the template of a layer: its own file, the stored template, the configured file, or the default.

use std::sync::Arc;

use foreword_prompt::bracket::DEFAULT_TEMPLATE;
use foreword_prompt::last_good::{STORED_TEMPLATE, SourceVersion};
use foreword_prompt::layer::Layer;
use foreword_prompt::stored::StoredTemplate;
use foreword_prompt::text::normalise_line_ends;

use super::gather::Gatherer;
use super::guarded::GuardedRead;
use crate::error::WorkspaceError;

/// The name of the built-in template in messages.
const BUILT_IN_TEMPLATE: &str = "template-default";
/// The folder of a stored template's includes if no file is configured.
const STORED_INCLUDES: &str = "prompts/";

/// A template that is not rendered yet.
pub(super) struct TemplateText {
    /// Its name in messages.
    pub(super) name: Arc<str>,
    pub(super) text: Arc<str>,
    /// The folder of its includes. Includes come from beside the template, so that a prompt cannot include the rest of
    /// the workspace.
    pub(super) folder: String,
    pub(super) kind: &'static str,
    /// Its name in reports.
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

/// The folder of a stored template's includes: that of the configured file it replaces.
pub(crate) fn stored_includes(configured: Option<&str>) -> String {
    configured.map_or_else(|| STORED_INCLUDES.to_owned(), folder_of)
}

fn folder_of(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"))
}

/// The name of a stored template in messages.
pub(crate) fn stored_template_name(version: u64) -> String {
    format!("stored template v{version}")
}

/// The last good version of a stored template.
fn version_of(good: &SourceVersion) -> Option<StoredTemplate> {
    Some(StoredTemplate { version: good.resolved.parse().ok()?, text: Arc::clone(&good.text) })
}

impl Gatherer<'_> {
    /// The template of a layer: its own file, otherwise the stored template, otherwise the configured file, otherwise
    /// the default. `None` if this user may not see it.
    pub(super) fn template_text(
        &mut self,
        layer: &Layer,
        path: Option<&str>,
    ) -> Result<Option<TemplateText>, WorkspaceError> {
        let configured = self.snapshot.config.prompt.template_file.as_deref();
        if path.is_none()
            && let Some(stored) = self.request.stored.as_ref().and_then(|stored| stored.template())
        {
            // It replaces the configured file, so the same users may see it.
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
            GuardedRead::Text(text) => Ok(Some(TemplateText::file(path, text))),
            GuardedRead::Missing(error) => Err(error),
            GuardedRead::Withheld => Ok(None),
        }
    }
}
