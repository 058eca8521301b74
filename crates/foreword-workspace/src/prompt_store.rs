//! Prompt files below one root, read and compiled once and then only rendered. Compiled templates are shared by content
//! across stores; what one store has read stays as it was, so that a caller decides when to look again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use foreword_prompt::jinja::{self, Compiled, Limits, RenderContext};
use foreword_prompt::text::ContentHash;
use quick_cache::sync::Cache;

use crate::error::WorkspaceError;
use crate::roots::Root;
use crate::text_pool::FileCache;

/// How many compiled templates are kept.
const KEPT_TEMPLATES: usize = 512;

/// Compiled templates by content. Bounded, and shared by all stores of a process.
#[derive(Debug)]
pub struct TemplateCache {
    compiled: Cache<ContentHash, Arc<Compiled>>,
    limits: Limits,
}

impl Default for TemplateCache {
    fn default() -> Self {
        Self { compiled: Cache::new(KEPT_TEMPLATES), limits: Limits::default() }
    }
}

impl TemplateCache {
    /// The template `text`, called `name`, compiled with everything it includes.
    ///
    /// # Errors
    /// If it does not parse, or includes what can't be had.
    pub fn compile(
        &self,
        name: &str,
        text: &Arc<str>,
        loader: jinja::Loader<'_>,
    ) -> Result<Arc<Compiled>, WorkspaceError> {
        let key = ContentHash::of_parts([name, text]);
        // The key names the file itself; what it includes may have changed since.
        let unchanged = |(part, text): &(String, Arc<str>)| matches!(loader(part), Ok(Some(now)) if Arc::ptr_eq(&now, text) || now == *text);
        if let Some(known) = self.compiled.get(&key).filter(|known| known.parts()[1..].iter().all(unchanged))
        {
            return Ok(known);
        }
        let compiled = Arc::new(jinja::compile(name, Arc::clone(text), loader, &self.limits)?);
        self.compiled.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }
}

/// The prompt files below a root, as they were when they were first asked for.
#[derive(Debug)]
pub struct PromptStore {
    root: Root,
    files: Arc<FileCache>,
    templates: Arc<TemplateCache>,
    ready: Mutex<BTreeMap<Box<str>, Arc<Compiled>>>,
}

impl PromptStore {
    /// The files below `root`.
    #[must_use]
    pub fn new(root: Root, files: Arc<FileCache>, templates: Arc<TemplateCache>) -> Self {
        Self { root, files, templates, ready: Mutex::default() }
    }

    /// Where its files are.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The file at `path`, rendered.
    ///
    /// # Errors
    /// [`WorkspaceError::Resolution`] if there is no such file, [`WorkspaceError::Access`] if it is not to be read,
    /// [`WorkspaceError::Template`] if it does not parse or render.
    pub fn render(&self, path: &str, context: &RenderContext) -> Result<String, WorkspaceError> {
        Ok(self.template(path)?.render(context)?)
    }

    /// The file at `path`, compiled.
    ///
    /// # Errors
    /// As [`PromptStore::render`].
    pub fn template(&self, path: &str) -> Result<Arc<Compiled>, WorkspaceError> {
        if let Some(known) = self.ready.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(Arc::clone(known));
        }
        let file = self.files.read(&self.root, path)?;
        let loader = |name: &str| match self.files.read(&self.root, name) {
            Ok(file) => Ok(Some(file.text)),
            Err(error) if error.is_missing_file() => Ok(None),
            Err(error) => Err(error.to_string()),
        };
        let compiled = self.templates.compile(path, &file.text, &loader)?;
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert(path.into(), Arc::clone(&compiled));
        Ok(compiled)
    }

    /// Whether a file that was read through this store is different now.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let differs = |(name, text): &(String, Arc<str>)| match self.files.read(&self.root, name) {
            Ok(now) => now.text != *text,
            Err(_) => true,
        };
        ready.values().any(|compiled| compiled.parts().iter().any(differs))
    }
}
