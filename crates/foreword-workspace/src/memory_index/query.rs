//! What somebody looks for: the words of a question that are worth looking for.

use super::words::{Side, each_term};

/// The most different words of a question that count.
const MOST_WORDS: usize = 32;

/// Words that most English sentences have. They are passed over if there are others.
const EVERYDAY: [&str; 54] = [
    "a", "about", "an", "and", "are", "as", "at", "be", "but", "by", "can", "did", "do", "does", "for",
    "from", "had", "has", "have", "he", "her", "his", "how", "i", "in", "is", "it", "its", "me", "my", "of",
    "on", "or", "our", "she", "that", "the", "their", "them", "there", "they", "this", "to", "was", "we",
    "were", "what", "when", "where", "which", "who", "with", "you", "your",
];

/// The words of a question.
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
    /// What `text` asks for.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut telling: Vec<String> = Vec::new();
        let mut everyday: Vec<String> = Vec::new();
        each_term(text, Side::Asked, |word, term| {
            let written = text[word].to_ascii_lowercase();
            let list = if EVERYDAY.contains(&written.as_str()) { &mut everyday } else { &mut telling };
            if list.len() < MOST_WORDS && !list.iter().any(|known| known == term) {
                list.push(term.to_owned());
            }
        });
        Self { terms: if telling.is_empty() { everyday } else { telling } }
    }

    /// The words, as they are looked for.
    #[must_use]
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyday_words_are_in_order_so_that_none_is_there_twice() {
        assert!(EVERYDAY.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_question_of_a_thousand_words_counts_by_its_first() {
        let text: String = (0..1_000).map(|number| format!("w{number} ")).collect();
        assert_eq!(Query::new(&text).terms().len(), MOST_WORDS);
        assert_eq!(Query::new(&"tea ".repeat(1_000)).terms(), ["tea"]);
    }
}
