//! Redacts secrets before any output. [`Redactor`] recognises them by their key and by their form; a [`Redacted`] value
//! is proof of redaction.
//!
//! In doubt it redacts. It cannot recognise a secret without a typical form or key, such as a password in the middle of
//! a sentence; configure further keys and patterns for those.

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

/// The maximum number of passes over a text.
const MAX_PASSES: usize = 8;

/// Additional redaction rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RedactionRules {
    /// Additional keys of secret values; `*` matches any text, case-insensitive.
    pub keys: Vec<String>,
    /// Additional patterns. If a pattern has a group, only the match of the group is redacted.
    pub patterns: Vec<String>,
}

/// Redacts secrets. Clones share one state.
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
    /// Makes masks comparable within one workspace only.
    masker: Masker,
}

/// A redacted event. Clones share one event.
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
    /// A redactor with the built-in rules and `rules`. Masks with the same salt are comparable.
    ///
    /// # Errors
    /// If a pattern is invalid.
    pub fn new(rules: &RedactionRules, salt: [u8; 16]) -> Result<Self, ObserveError> {
        Ok(Self(Arc::new(Inner { scanner: Scanner::new(rules)?, masker: Masker::new(salt) })))
    }

    /// The text without secrets. Each is replaced by `[REDACTED]` and a tag that distinguishes it from others.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut shown = Cow::Borrowed(text);
        // Text next to a secret may match only after the secret is masked.
        for _ in 0..MAX_PASSES {
            match self.pass(&shown) {
                Some(masked) => shown = Cow::Owned(masked),
                None => break,
            }
        }
        shown
    }

    /// The text after one pass, or `None` if the pass finds no secret.
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

    /// The mask of a text that is known to be secret.
    #[must_use]
    pub fn mask(&self, secret: &str) -> String {
        self.0.masker.mask(secret)
    }
}
