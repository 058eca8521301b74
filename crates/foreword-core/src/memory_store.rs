//! The stores of the memory, each with its own audience. Trust decides which stores a reader may see.

use foreword_prompt::file_rules::store_trust;
use foreword_prompt::trust::Trust;

use crate::string_enum::string_enum;

string_enum! {
    /// A memory store. The word is also its folder in `memory/`.
    MemoryStore = "memory store" {
        /// For the owner.
        Private = "private",
        /// For people close to the owner.
        Shared = "shared",
        /// For all known users.
        Social = "social",
    }
}

impl MemoryStore {
    /// The minimum trust to read it.
    #[must_use]
    pub fn needed_trust(self) -> Trust {
        store_trust(self.as_str()).unwrap_or(Trust::Full)
    }

    /// The stores that a reader of trust `trust` may see.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_need_the_trust_of_the_design() {
        let permitted =
            |trust| MemoryStore::permitted(trust).iter().map(|store| store.as_str()).collect::<Vec<_>>();
        assert_eq!(permitted(Trust::Full), ["private", "shared", "social"]);
        assert_eq!(permitted(Trust::Inner), ["shared", "social"]);
        assert_eq!(permitted(Trust::Familiar), ["social"]);
        assert!(permitted(Trust::Public).is_empty());
        assert!("Private".parse::<MemoryStore>().is_err());
    }

    #[test]
    fn stores_have_distinct_names_and_audiences() {
        for store in MemoryStore::ALL {
            assert_eq!(store.as_str().parse(), Ok(store));
        }
        assert_eq!(MemoryStore::Private.needed_trust(), Trust::Full);
        assert_eq!(MemoryStore::permitted(Trust::Familiar), [MemoryStore::Social]);
        assert_eq!(
            "secret".parse::<MemoryStore>().unwrap_err().to_string(),
            "`secret` is not a valid memory store"
        );
    }
}
