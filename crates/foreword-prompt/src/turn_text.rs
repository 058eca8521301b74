//! Text for one turn only. It may contain framed text from outside. Frozen layers accept only plain text, and there is
//! no conversion.

use std::sync::Arc;

use crate::content::Content;
use crate::menu::Menu;
use crate::untrusted::Framed;

/// The text of a turn layer, composed of our own text and framed text from outside.
///
/// ```
/// use foreword_prompt::turn_text::TurnText;
/// let text = TurnText::new("## Pending obligations");
/// assert!(!text.is_blank());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnText(String);

impl TurnText {
    /// Starts with our own text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Adds our own text.
    pub fn push(&mut self, text: &str) {
        self.0.push_str(text);
    }

    /// Adds text from outside, in its frame.
    pub fn push_framed(&mut self, framed: &Framed) {
        self.0.push_str(framed.as_str());
    }

    /// Whether it contains only white space.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The content of a turn layer's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnContent {
    /// Absent, with the reason.
    Absent(String),
    /// Present but empty.
    Empty,
    /// Our own text, possibly with framed text in it.
    Text(TurnText),
    /// Text shared between turns.
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
