//! A search query: the distinct terms of a question.

use super::terms::{Side, each_term};

/// The maximum number of distinct terms.
const MAX_WORDS: usize = 32;

/// Common English words. They are ignored if the query has other words.
const STOP_WORDS: [&str; 54] = [
    "a", "about", "an", "and", "are", "as", "at", "be", "but", "by", "can", "did", "do", "does", "for",
    "from", "had", "has", "have", "he", "her", "his", "how", "i", "in", "is", "it", "its", "me", "my", "of",
    "on", "or", "our", "she", "that", "the", "their", "them", "there", "they", "this", "to", "was", "we",
    "were", "what", "when", "where", "which", "who", "with", "you", "your",
];

/// A search query.
///
/// ```
/// use foreword_workspace::memory_index::Query;
/// assert_eq!(Query::new("What's Carol's birthday?").terms(), ["carol", "birthday"]);
/// assert_eq!(Query::new("To be or to be").terms(), ["to", "be", "or"]);
/// assert!(Query::new("…?").is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    terms: Vec<String>,
}

impl Query {
    /// Parses a query.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut telling: Vec<String> = Vec::new();
        let mut everyday: Vec<String> = Vec::new();
        each_term(text, Side::Asked, |word, term| {
            let written = text[word].to_ascii_lowercase();
            let list = if STOP_WORDS.contains(&written.as_str()) { &mut everyday } else { &mut telling };
            if list.len() < MAX_WORDS && !list.iter().any(|known| known == term) {
                list.push(term.to_owned());
            }
        });
        Self { terms: if telling.is_empty() { everyday } else { telling } }
    }

    /// The terms.
    #[must_use]
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// Whether the query has no terms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted_and_unique() {
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn long_queries_use_their_first_words() {
        let text: String = (0..1_000).map(|number| format!("w{number} ")).collect();
        assert_eq!(Query::new(&text).terms().len(), MAX_WORDS);
        assert_eq!(Query::new(&"tea ".repeat(1_000)).terms(), ["tea"]);
    }
}
