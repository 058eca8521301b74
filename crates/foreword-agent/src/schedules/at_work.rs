//! Which firings really run in this process. The store knows which ones it has; what it has and nobody runs is gone on with.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foreword_core::timestamp::Timestamp;

/// A schedule, and when it was due.
pub(crate) type Key = (String, Timestamp);

/// The firings that run here. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct AtWork(Arc<Mutex<BTreeSet<Key>>>);

impl AtWork {
    /// Notes that somebody is at it, until what is given back is dropped. `None` if somebody is already.
    pub(super) fn begin(&self, key: Key) -> Option<Place> {
        self.all().insert(key.clone()).then(|| Place { key, of: self.clone() })
    }

    /// Those that run now.
    pub(super) fn now(&self) -> BTreeSet<Key> {
        self.all().clone()
    }

    fn all(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A firing that runs here.
#[derive(Debug)]
pub(super) struct Place {
    key: Key,
    of: AtWork,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.all().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_firing_is_at_work_once_and_until_it_is_let_go() {
        let (at_work, key) = (AtWork::default(), ("digest".to_owned(), Timestamp::from_micros(1)));
        let place = at_work.begin(key.clone()).unwrap();
        assert!(at_work.begin(key.clone()).is_none());
        assert_eq!(at_work.now(), [key.clone()].into());
        drop(place);
        assert!(at_work.now().is_empty() && at_work.begin(key).is_some());
    }
}
