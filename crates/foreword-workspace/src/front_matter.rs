//! Splits YAML front matter from Markdown text. Keeps its position, so that errors show the line in the file. The
//! caller's type defines the keys.

use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::document::{DocumentError, YamlSource};

/// Markdown text split into front matter and body.
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
    /// Splits `text`, whose lines end in `\n`. Front matter is the text between a first line `---` and the next line
    /// `---`.
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

    /// The text after the front matter, or all of it if there is none.
    #[must_use]
    pub fn body(&self) -> &str {
        self.text.get(self.body..).unwrap_or_default()
    }

    /// The first line of the body, from 1.
    #[must_use]
    pub fn body_line(&self) -> usize {
        self.text.get(..self.body).unwrap_or_default().matches('\n').count() + 1
    }

    /// Whether the text begins with `---` but never closes its front matter; it then counts as having none.
    #[must_use]
    pub fn is_unclosed(&self) -> bool {
        matches!(self.block, Block::Unclosed)
    }

    /// The YAML, for error positions; the first line if there is no front matter.
    #[must_use]
    pub fn source(&self) -> YamlSource {
        let yaml = match &self.block {
            Block::Yaml(yaml) => yaml.clone(),
            Block::None | Block::Unclosed => 0..0,
        };
        YamlSource::part(&self.file, Arc::clone(&self.text), yaml)
    }

    /// Parses the front matter into `T`. `None` if there is none.
    ///
    /// # Errors
    /// When it is invalid YAML, or does not match `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<Option<T>, DocumentError> {
        match &self.block {
            Block::None | Block::Unclosed => Ok(None),
            Block::Yaml(_) => self.source().parse().map(Some),
        }
    }
}

/// The YAML of `text`, if it has front matter, and the text after it.
pub(crate) fn parts(text: &str) -> (Option<&str>, &str) {
    let (block, body) = divide(text);
    let yaml = match block {
        Block::Yaml(yaml) => text.get(yaml),
        Block::None | Block::Unclosed => None,
    };
    (yaml, text.get(body..).unwrap_or_default())
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
    fn front_matter_is_between_the_first_two_fences() {
        let divided = split("---  \nname: alice\n---\n\n---\nbody\n");
        assert_eq!(divided.parse(), Ok(Some(Card { name: "alice".to_owned() })));
        assert_eq!((divided.body(), divided.body_line()), ("\n---\nbody\n", 4));
        assert_eq!(split("---\nname: alice\n---").body(), "");
    }

    #[test]
    fn text_without_front_matter_is_all_body() {
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
    fn problem_is_reported_on_its_line_of_the_file() {
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
