//! Prompt files below one root, read and compiled once and then only rendered. Compiled templates are shared by content
//! across stores; what one store has read stays as it was, so that a caller decides when to look again.

use std::cell::RefCell;
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

/// A compiled template, and the files it asked for that were not there: `ignore missing` lets it do without them.
#[derive(Debug, Clone)]
struct Kept {
    compiled: Arc<Compiled>,
    absent: Arc<[String]>,
}

impl Kept {
    /// Whether all that it includes is still as it was.
    fn is_current(&self, loader: jinja::Loader<'_>) -> bool {
        let same = |(part, text): &(String, Arc<str>)| matches!(loader(part), Ok(Some(now)) if Arc::ptr_eq(&now, text) || now == *text);
        self.compiled.parts()[1..].iter().all(same)
            && self.absent.iter().all(|name| matches!(loader(name), Ok(None)))
    }
}

/// Compiled templates by content. Bounded, and shared by all stores of a process.
#[derive(Debug)]
pub struct TemplateCache {
    compiled: Cache<ContentHash, Kept>,
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
        Ok(self.keep(name, text, loader)?.compiled)
    }

    fn keep(&self, name: &str, text: &Arc<str>, loader: jinja::Loader<'_>) -> Result<Kept, WorkspaceError> {
        // The key names the file itself; what it includes may have changed since.
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
        let kept = Kept { compiled, absent: absent.into_inner().into() };
        self.compiled.insert(key, kept.clone());
        Ok(kept)
    }
}

/// The prompt files below a root, as they were when they were first asked for.
#[derive(Debug)]
pub struct PromptStore {
    root: Root,
    files: Arc<FileCache>,
    templates: Arc<TemplateCache>,
    ready: Mutex<BTreeMap<Box<str>, Kept>>,
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
            return Ok(Arc::clone(&known.compiled));
        }
        let file = self.files.read(&self.root, path)?;
        let kept = self.templates.keep(path, &file.text, &|name| self.load(name))?;
        let compiled = Arc::clone(&kept.compiled);
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).insert(path.into(), kept);
        Ok(compiled)
    }

    fn load(&self, name: &str) -> Result<Option<Arc<str>>, String> {
        match self.files.read(&self.root, name) {
            Ok(file) => Ok(Some(file.text)),
            Err(error) if error.is_missing_file() => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Whether a file that was read through this store is different now.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let itself = |path: &str, kept: &Kept| matches!(self.load(path), Ok(Some(now)) if kept.compiled.parts().first().is_some_and(|(_, then)| now == *then));
        !ready.iter().all(|(path, kept)| itself(path, kept) && kept.is_current(&|name| self.load(name)))
    }
}
