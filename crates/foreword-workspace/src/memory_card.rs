//! The front matter of a memory file, of which only the description is used.
//!
//! Most cards have one `key: words` per line. They are read without the YAML parser, which would take most of the time
//! of loading a hundred thousand memory files.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use crate::document::DocumentError;
use crate::front_matter::{self, FrontMatter};

/// The maximum number of lines of a card that is read without the YAML parser.
const MAX_SIMPLE_LINES: usize = 8;

/// A memory file's description and text.
#[derive(Debug)]
pub(crate) struct MemoryCard<'a> {
    /// The description in the front matter, if there is one.
    pub(crate) description: Option<Cow<'a, str>>,
    /// The text after the front matter.
    pub(crate) body: &'a str,
    /// Why the front matter is invalid.
    pub(crate) problem: Option<DocumentError>,
}

impl<'a> MemoryCard<'a> {
    /// Reads the card of the file with this text. `name` is its name in messages.
    pub(crate) fn of(text: &'a Arc<str>, name: impl FnOnce() -> String) -> Self {
        let (yaml, body) = front_matter::parts(text);
        let Some(yaml) = yaml else { return Self { description: None, body, problem: None } };
        if let Some(description) = simple_description(yaml) {
            return Self { description: description.map(Cow::Borrowed), body, problem: None };
        }
        match FrontMatter::split(&name(), Arc::clone(text)).parse::<CardKeys>() {
            Ok(card) => {
                let description = card.and_then(|card| card.description).map(Cow::Owned);
                Self { description, body, problem: None }
            }
            Err(problem) => Self { description: None, body, problem: Some(problem) },
        }
    }
}

#[derive(Deserialize)]
struct CardKeys {
    description: Option<String>,
}

/// The description in `yaml`, if every line is a key and a plain scalar that needs no YAML parser to be understood.
fn simple_description(yaml: &str) -> Option<Option<&str>> {
    let mut keys = [""; MAX_SIMPLE_LINES];
    let mut description = None;
    for (number, line) in yaml.lines().enumerate() {
        let (key, value) = line.split_once(": ")?;
        // A repeated key is an error.
        let is_key = is_simple_key(key) && !keys.contains(&key);
        if !is_key || !is_plain_scalar(value) {
            return None;
        }
        *keys.get_mut(number)? = key;
        if key == "description" {
            // A single word can be a number, a boolean or null.
            description = Some(value).filter(|value| value.contains(' '));
            description?;
        }
    }
    // A card without keys is left to the parser, which decides whether it is valid.
    keys.first().filter(|first| !first.is_empty()).map(|_| description)
}

fn is_simple_key(key: &str) -> bool {
    let is_null_or_boolean =
        matches!(key, "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n");
    !key.is_empty()
        && !is_null_or_boolean
        && key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Whether `value` is a plain scalar whose text is `value`: no indicator, no comment and no space at its ends.
fn is_plain_scalar(value: &str) -> bool {
    let is_plain = |character: char| {
        character.is_alphanumeric()
            || matches!(character, ' ' | ',' | '.' | '\'' | '(' | ')' | '/' | '_' | '-')
    };
    value.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !value.ends_with(' ')
        && value.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn by_yaml(yaml: &str) -> Result<Option<String>, DocumentError> {
        let text = format!("---\n{yaml}---\nbody\n");
        FrontMatter::split("card.md", text.into()).parse::<CardKeys>().map(|card| card?.description)
    }

    prop_compose! {
        fn any_card()(
            lines in proptest::collection::vec((
                select(vec!["description", "name", "type", "null", "true", "y", "nan", "a_b", "é", "<<", ""]),
                select(vec![": ", ":", " : ", ":  "]),
                prop_oneof!["[a-z0-9 ,.'()/_é日-]{0,12}", "[ -~é\t]{0,8}", "(true|null|~|1|1 2|a b|a # b|- a|1e3 x)"],
            ), 0..5)
        ) -> String {
            lines.into_iter().map(|(key, colon, value)| format!("{key}{colon}{value}\n")).collect()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn simple_cards_are_read_like_yaml(yaml in any_card()) {
            if let Some(description) = simple_description(&yaml) {
                prop_assert_eq!(by_yaml(&yaml), Ok(description.map(str::to_owned)), "{:?}", yaml);
            }
        }
    }

    #[test]
    fn common_cards_need_no_parser() {
        for (yaml, description) in [
            ("description: What was said about matter 7.\n", Some("What was said about matter 7.")),
            (
                "name: boat\ndescription: the boat, and who uses it\ntype: note\n",
                Some("the boat, and who uses it"),
            ),
            ("updated: 2026-11-16\n", None),
        ] {
            assert_eq!(simple_description(yaml), Some(description), "{yaml}");
            assert_eq!(by_yaml(yaml), Ok(description.map(str::to_owned)), "{yaml}");
        }
    }

    #[test]
    fn invalid_card_is_reported_with_its_name() {
        let text: Arc<str> = "---\ndescription: [\n---\nbody\n".into();
        let card = MemoryCard::of(&text, || "memory/social/a.md".to_owned());
        assert_eq!((card.description, card.body), (None, "body\n"));
        assert!(card.problem.is_some_and(|problem| problem.to_string().starts_with("memory/social/a.md:")));
    }
}
