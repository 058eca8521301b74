//! Secrets are taken out before anything is seen by anybody. [`Redactor`] knows them by the key they stand under and by
//! what they look like; [`Redacted`] is the proof that it has looked.
//!
//! When in doubt it hides. What it does not find: a secret without any form of its own that stands under no key, such as a
//! password in the middle of a sentence. For those there are further keys and patterns.

mod assignments;
mod commands;
mod events;
mod forms;
mod hit;
mod keys;
mod mask;
mod scan;
mod shapes;
mod values;

use std::borrow::Cow;
use std::sync::Arc;

use foreword_core::event::Event;

use crate::error::ObserveError;
use mask::Masker;
use scan::Scanner;

/// How often a text is looked through until nothing more is found.
const MOST_PASSES: usize = 8;

/// What is taken for a secret, beside what is built in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RedactionRules {
    /// Further keys whose values are secret, `*` for any text, in whatever case.
    pub keys: Vec<String>,
    /// Further patterns that secrets have. Of a pattern with a group only what the group matches is hidden.
    pub patterns: Vec<String>,
}

/// Takes secrets out. Clones share one.
///
/// ```
/// use foreword_observe::redact::{RedactionRules, Redactor};
/// let redactor = Redactor::new(&RedactionRules::default(), [0; 16]).unwrap();
/// assert_eq!(redactor.text("12 tokens of task-list"), "12 tokens of task-list");
/// assert!(redactor.text("mysql --password hunter2-hunter2").starts_with("mysql --password [REDACTED]#"));
/// ```
#[derive(Debug, Clone)]
pub struct Redactor(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    scanner: Scanner,
    /// What makes masks of one workspace comparable with each other and with no others.
    masker: Masker,
}

/// An event without secrets. Clones share one event.
#[derive(Debug, Clone)]
pub struct Redacted(Arc<Event>);

impl Redacted {
    /// The event.
    #[must_use]
    pub fn event(&self) -> &Arc<Event> {
        &self.0
    }
}

impl Redactor {
    /// A redactor by these rules, beside those that are built in. Masks made with one salt are comparable.
    ///
    /// # Errors
    /// If one of the patterns is none.
    pub fn new(rules: &RedactionRules, salt: [u8; 16]) -> Result<Self, ObserveError> {
        Ok(Self(Arc::new(Inner { scanner: Scanner::new(rules)?, masker: Masker::new(salt) })))
    }

    /// The text without secrets. Where one stood there is `[REDACTED]`, and a tag by which it can be told from others.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut shown = Cow::Borrowed(text);
        // What a secret stood against may look like one only when that is gone.
        for _ in 0..MOST_PASSES {
            match self.pass(&shown) {
                Some(masked) => shown = Cow::Owned(masked),
                None => break,
            }
        }
        shown
    }

    /// The text without the secrets that one pass finds, if it finds any.
    fn pass(&self, text: &str) -> Option<String> {
        let secrets = self.0.scanner.secrets(text);
        if secrets.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for secret in secrets {
            out.push_str(&text[from..secret.start]);
            self.0.masker.push(&mut out, &text[secret.clone()]);
            from = secret.end;
        }
        out.push_str(&text[from..]);
        Some(out)
    }

    /// The mask of a text that is a secret whatever it looks like.
    #[must_use]
    pub fn mask(&self, secret: &str) -> String {
        self.0.masker.mask(secret)
    }
}
