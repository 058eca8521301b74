//! The parts of the memory, each with its own audience. Trust decides which of them somebody may see at all.

use std::fmt;
use std::str::FromStr;

use foreword_prompt::file_rules::store_trust;
use foreword_prompt::trust::Trust;

use crate::message::UnknownWord;

/// A part of the memory with its own audience.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryStore {
    /// For the owner.
    Private,
    /// For those close to the owner.
    Shared,
    /// For whoever is known.
    Social,
}

impl MemoryStore {
    /// All stores, in the order of their names.
    pub const ALL: [Self; 3] = [Self::Private, Self::Shared, Self::Social];

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Shared => "shared",
            Self::Social => "social",
        }
    }

    /// The trust it takes to see anything of it.
    #[must_use]
    pub fn needed_trust(self) -> Trust {
        store_trust(self.as_str()).unwrap_or(Trust::Full)
    }

    /// The stores that somebody of trust `trust` may see.
    ///
    /// ```
    /// use foreword_core::memory_store::MemoryStore;
    /// use foreword_prompt::trust::Trust;
    /// assert_eq!(MemoryStore::permitted(Trust::Inner), [MemoryStore::Shared, MemoryStore::Social]);
    /// assert!(MemoryStore::permitted(Trust::Public).is_empty());
    /// ```
    #[must_use]
    pub fn permitted(trust: Trust) -> Vec<Self> {
        Self::ALL.into_iter().filter(|store| trust.permits(store.needed_trust())).collect()
    }
}

impl fmt::Display for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for MemoryStore {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|store| store.as_str() == word);
        found.ok_or_else(|| UnknownWord { what: "memory store", word: word.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_store_has_a_word_and_an_audience_of_its_own() {
        for store in MemoryStore::ALL {
            assert_eq!(store.as_str().parse(), Ok(store));
        }
        assert_eq!(MemoryStore::Private.needed_trust(), Trust::Full);
        assert_eq!(MemoryStore::permitted(Trust::Familiar), [MemoryStore::Social]);
        assert_eq!("secret".parse::<MemoryStore>().unwrap_err().to_string(), "`secret` is no memory store");
    }
}
