//! Text that exists for one turn only. It may hold framed text from outside; frozen layers take plain text, and there
//! is no way from here to there.

use std::sync::Arc;

use crate::content::Content;
use crate::menu::Menu;
use crate::untrusted::Framed;

/// A turn layer's text, put together from our own words and framed text from outside.
///
/// ```
/// use foreword_prompt::turn_text::TurnText;
/// let text = TurnText::new("## Pending obligations");
/// assert!(!text.is_blank());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnText(String);

impl TurnText {
    /// Starts with our own words.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Adds our own words.
    pub fn push(&mut self, text: &str) {
        self.0.push_str(text);
    }

    /// Adds text from outside, in its frame.
    pub fn push_framed(&mut self, framed: &Framed) {
        self.0.push_str(framed.as_str());
    }

    /// Whether there is nothing to read in it.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a source gave for a turn layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnContent {
    /// There is nothing, and why.
    Absent(String),
    /// It is there and has nothing in it.
    Empty,
    /// Our own words, perhaps with framed text in them.
    Text(TurnText),
    /// Words that are shared between turns.
    Shared(Arc<str>),
    /// The memory menu.
    Menu(Menu),
}

impl From<Content> for TurnContent {
    fn from(content: Content) -> Self {
        match content {
            Content::Absent(reason) => Self::Absent(reason),
            Content::Empty => Self::Empty,
            Content::Text(text) => Self::Shared(text),
        }
    }
}

impl From<TurnText> for TurnContent {
    fn from(text: TurnText) -> Self {
        if text.is_blank() { Self::Empty } else { Self::Text(text) }
    }
}
