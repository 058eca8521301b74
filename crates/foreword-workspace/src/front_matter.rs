//! Splits the YAML front matter off a Markdown text. Keeps where it stood, so that a problem inside is shown on the
//! line of the file it is on. Knows no keys; the caller's type does.

use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::document::{DocumentError, YamlSource};

/// A Markdown text, divided.
#[derive(Debug, Clone)]
pub struct FrontMatter {
    file: String,
    text: Arc<str>,
    block: Block,
    body: usize,
}

#[derive(Debug, Clone)]
enum Block {
    None,
    Unclosed,
    Yaml(Range<usize>),
}

impl FrontMatter {
    /// Divides `text`, whose lines end in `\n`. Front matter is what stands between a first line `---` and the next
    /// line `---`.
    ///
    /// ```
    /// use foreword_workspace::front_matter::FrontMatter;
    /// #[derive(serde::Deserialize)]
    /// struct Card { name: String }
    ///
    /// let divided = FrontMatter::split("card.md", "---\nname: alice\n---\nHello.\n".into());
    /// assert_eq!(divided.body(), "Hello.\n");
    /// assert_eq!(divided.parse::<Card>().unwrap().unwrap().name, "alice");
    /// assert!(FrontMatter::split("card.md", "Hello.".into()).parse::<Card>().unwrap().is_none());
    /// ```
    #[must_use]
    pub fn split(file: &str, text: Arc<str>) -> Self {
        let (block, body) = divide(&text);
        Self { file: file.to_owned(), text, block, body }
    }

    /// What follows the front matter, or everything if there is none.
    #[must_use]
    pub fn body(&self) -> &str {
        self.text.get(self.body..).unwrap_or_default()
    }

    /// The line the body starts on, from 1.
    #[must_use]
    pub fn body_line(&self) -> usize {
        self.text.get(..self.body).unwrap_or_default().matches('\n').count() + 1
    }

    /// Whether the text begins with `---` but never ends its front matter; it then counts as having none.
    #[must_use]
    pub fn is_unclosed(&self) -> bool {
        matches!(self.block, Block::Unclosed)
    }

    /// The YAML, to point at places in it; at the first line when there is no front matter.
    #[must_use]
    pub fn source(&self) -> YamlSource {
        let yaml = match &self.block {
            Block::Yaml(yaml) => yaml.clone(),
            Block::None | Block::Unclosed => 0..0,
        };
        YamlSource::part(&self.file, Arc::clone(&self.text), yaml)
    }

    /// The front matter as a `T`, or `None` if there is none.
    ///
    /// # Errors
    /// When it is no YAML, or not the YAML `T` asks for.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<Option<T>, DocumentError> {
        match &self.block {
            Block::None | Block::Unclosed => Ok(None),
            Block::Yaml(_) => self.source().parse().map(Some),
        }
    }
}

fn divide(text: &str) -> (Block, usize) {
    let mut lines = text.split_inclusive('\n');
    let start = match lines.next() {
        Some(first) if is_fence(first) => first.len(),
        _ => return (Block::None, 0),
    };
    let mut end = start;
    for line in lines {
        if is_fence(line) {
            return (Block::Yaml(start..end), end + line.len());
        }
        end += line.len();
    }
    (Block::Unclosed, 0)
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Card {
        name: String,
    }

    fn split(text: &str) -> FrontMatter {
        FrontMatter::split("card.md", text.into())
    }

    #[test]
    fn front_matter_is_what_stands_between_the_first_two_fences() {
        let divided = split("---  \nname: alice\n---\n\n---\nbody\n");
        assert_eq!(divided.parse(), Ok(Some(Card { name: "alice".to_owned() })));
        assert_eq!((divided.body(), divided.body_line()), ("\n---\nbody\n", 4));
        assert_eq!(split("---\nname: alice\n---").body(), "");
    }

    #[test]
    fn a_text_without_front_matter_is_all_body() {
        for text in
            ["", "# Title\n---\n", "---", "---\nnever closed\n", " ---\na: 1\n---\n", "----\na\n----\n"]
        {
            let divided = split(text);
            assert_eq!(divided.parse::<Card>(), Ok(None), "{text:?}");
            assert_eq!((divided.body(), divided.body_line()), (text, 1));
        }
        assert!(split("---\nname: alice\n").is_unclosed());
        assert!(!split("# Title\n").is_unclosed());
    }

    #[test]
    fn a_problem_is_shown_on_the_line_of_the_file() {
        let error = split("---\nname: alice\ncolour: red\n---\nbody\n").parse::<Card>().unwrap_err();
        assert_eq!(error.to_string(), "card.md:3:1: unknown key `colour`");
        assert_eq!(error.excerpt(), "  |\n3 | colour: red\n  | ^^^^^^");
        let error = split("---\nname: [\n---\nbody\n").parse::<Card>().unwrap_err();
        assert!(error.at.line <= 3, "{error}");
    }

    #[test]
    fn empty_front_matter_lacks_its_required_keys() {
        assert!(split("---\n---\nbody\n").parse::<Card>().is_err());
    }
}
