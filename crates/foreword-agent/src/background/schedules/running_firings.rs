//! Registry of the firings that run in this process. The scheduler resumes stored firings that are not registered here.

use std::collections::BTreeSet;
use std::sync::Arc;

use foreword_core::timestamp::Timestamp;
use parking_lot::Mutex;

/// The schedule's name and the due time.
pub(crate) type Key = (String, Timestamp);

/// The firings that run in this process. Clones share the set.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningFirings(Arc<Mutex<BTreeSet<Key>>>);

impl RunningFirings {
    /// Registers a firing until the guard is dropped. `None` if it is already registered.
    pub(super) fn begin(&self, key: Key) -> Option<FiringGuard> {
        self.0.lock().insert(key.clone()).then(|| FiringGuard { key, of: self.clone() })
    }

    /// The registered firings.
    pub(super) fn now(&self) -> BTreeSet<Key> {
        self.0.lock().clone()
    }
}

/// Unregisters the firing when dropped.
#[derive(Debug)]
pub(super) struct FiringGuard {
    key: Key,
    of: RunningFirings,
}

impl Drop for FiringGuard {
    fn drop(&mut self) {
        self.of.0.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firing_is_registered_until_its_guard_is_dropped() {
        let (running, key) = (RunningFirings::default(), ("digest".to_owned(), Timestamp::from_micros(1)));
        let guard = running.begin(key.clone()).unwrap();
        assert!(running.begin(key.clone()).is_none());
        assert_eq!(running.now(), [key.clone()].into());
        drop(guard);
        assert!(running.now().is_empty() && running.begin(key).is_some());
    }
}
