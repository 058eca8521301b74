//! Prompt files below one root, read and compiled once and then only rendered. Compiled templates are shared by content
//! across stores; a store keeps the version it read first, so the caller decides when to reload.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_prompt::jinja::{self, Compiled, Limits, RenderContext};
use foreword_prompt::text::ContentHash;
use parking_lot::Mutex;
use quick_cache::sync::Cache;

use crate::error::WorkspaceError;
use crate::roots::Root;
use crate::text_pool::FileCache;

/// The maximum number of cached compiled templates.
const TEMPLATE_CACHE_CAPACITY: usize = 512;

/// A compiled template, and the missing files it includes with `ignore missing`.
#[derive(Debug, Clone)]
struct CachedTemplate {
    compiled: Arc<Compiled>,
    absent: Arc<[String]>,
}

impl CachedTemplate {
    /// Whether all its includes are unchanged.
    fn is_current(&self, loader: jinja::Loader<'_>) -> bool {
        let same = |(part, text): &(String, Arc<str>)| matches!(loader(part), Ok(Some(now)) if Arc::ptr_eq(&now, text) || now == *text);
        self.compiled.parts()[1..].iter().all(same)
            && self.absent.iter().all(|name| matches!(loader(name), Ok(None)))
    }
}

/// A bounded cache of compiled templates by content, shared by all stores of a process.
#[derive(Debug)]
pub struct TemplateCache {
    compiled: Cache<ContentHash, CachedTemplate>,
    limits: Limits,
}

impl Default for TemplateCache {
    fn default() -> Self {
        Self { compiled: Cache::new(TEMPLATE_CACHE_CAPACITY), limits: Limits::default() }
    }
}

impl TemplateCache {
    /// Compiles the template `text`, called `name`, with its includes.
    ///
    /// # Errors
    /// If it does not parse, or an include is unavailable.
    pub fn compile(
        &self,
        name: &str,
        text: &Arc<str>,
        loader: jinja::Loader<'_>,
    ) -> Result<Arc<Compiled>, WorkspaceError> {
        Ok(self.compile_cached(name, text, loader)?.compiled)
    }

    fn compile_cached(
        &self,
        name: &str,
        text: &Arc<str>,
        loader: jinja::Loader<'_>,
    ) -> Result<CachedTemplate, WorkspaceError> {
        // The key covers the file itself; its includes may have changed since.
        let key = ContentHash::of_parts([name, text]);
        if let Some(known) = self.compiled.get(&key).filter(|known| known.is_current(loader)) {
            return Ok(known);
        }
        let absent = RefCell::new(Vec::new());
        let noting = |name: &str| {
            let found = loader(name);
            if matches!(found, Ok(None)) {
                absent.borrow_mut().push(name.to_owned());
            }
            found
        };
        let compiled = Arc::new(jinja::compile(name, Arc::clone(text), &noting, &self.limits)?);
        let kept = CachedTemplate { compiled, absent: absent.into_inner().into() };
        self.compiled.insert(key, kept.clone());
        Ok(kept)
    }
}

/// The prompt files below a root, each as first read.
#[derive(Debug)]
pub struct PromptStore {
    root: Root,
    files: Arc<FileCache>,
    templates: Arc<TemplateCache>,
    ready: Mutex<BTreeMap<Box<str>, CachedTemplate>>,
}

impl PromptStore {
    /// A store of the files below `root`.
    #[must_use]
    pub fn new(root: Root, files: Arc<FileCache>, templates: Arc<TemplateCache>) -> Self {
        Self { root, files, templates, ready: Mutex::default() }
    }

    /// The root of its files.
    #[must_use]
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Renders the file at `path`.
    ///
    /// # Errors
    /// [`WorkspaceError::Resolution`] if the file does not exist, [`WorkspaceError::Access`] if it may not be read,
    /// [`WorkspaceError::Template`] if it does not parse or render.
    pub fn render(&self, path: &str, context: &RenderContext) -> Result<String, WorkspaceError> {
        Ok(self.template(path)?.render(context)?)
    }

    /// Compiles the file at `path`.
    ///
    /// # Errors
    /// As [`PromptStore::render`].
    pub fn template(&self, path: &str) -> Result<Arc<Compiled>, WorkspaceError> {
        if let Some(known) = self.ready.lock().get(path) {
            return Ok(Arc::clone(&known.compiled));
        }
        let file = self.files.read(&self.root, path)?;
        let kept = self.templates.compile_cached(path, &file.text, &|name| self.load(name))?;
        let compiled = Arc::clone(&kept.compiled);
        self.ready.lock().insert(path.into(), kept);
        Ok(compiled)
    }

    fn load(&self, name: &str) -> Result<Option<Arc<str>>, String> {
        match self.files.read(&self.root, name) {
            Ok(file) => Ok(Some(file.text)),
            Err(error) if error.is_missing_file() => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Whether a file read through this store has changed since.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let ready = self.ready.lock();
        let itself = |path: &str, kept: &CachedTemplate| matches!(self.load(path), Ok(Some(now)) if kept.compiled.parts().first().is_some_and(|(_, then)| now == *then));
        !ready.iter().all(|(path, kept)| itself(path, kept) && kept.is_current(&|name| self.load(name)))
    }
}
