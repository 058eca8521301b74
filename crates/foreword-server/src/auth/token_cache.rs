//! Caches tokens, so that not every request reads the store. A revoked token is refused within a quarter of a second,
//! whichever process revoked it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::clock_and_rng::ClockAndRng;
use foreword_core::id::TokenId;
use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::tokens::ApiToken;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::credential::Credential;

/// The maximum age of an entry. Revocations by other processes on a SQLite store are not announced.
const MAX_AGE: Duration = Duration::from_millis(250);
/// The age after which one request refreshes the entry, while others still use it.
const REFRESH_AFTER: Duration = Duration::from_millis(150);
/// The maximum number of entries. Invalid tokens are not cached.
const MAX_TOKENS: usize = 10_000;

pub(crate) struct TokenCache {
    store: Store,
    clock_and_rng: Arc<dyn ClockAndRng>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: HashMap<blake3::Hash, CachedToken>,
    /// Incremented when the cache is cleared.
    generation: u64,
    /// The last-used times that are not stored yet.
    used: BTreeMap<TokenId, Timestamp>,
}

struct CachedToken {
    token: Arc<ApiToken>,
    fetched_at: Instant,
    /// Whether a request is refreshing the entry.
    is_refreshing: bool,
}

/// The result of a lookup.
enum Lookup {
    Hit(Arc<ApiToken>),
    /// The token must be read from the store.
    Miss {
        generation: u64,
    },
}

impl TokenCache {
    pub(crate) fn new(store: Store, clock_and_rng: Arc<dyn ClockAndRng>) -> Self {
        Self { store, clock_and_rng, state: Mutex::default() }
    }

    /// The token, if it is valid.
    pub(crate) async fn find(&self, credential: &Credential) -> Result<Option<Arc<ApiToken>>, StoreError> {
        let (digest, now) = (credential.digest(), self.clock_and_rng.timestamp());
        let fetched_at = Instant::now();
        let generation = match self.lookup(&digest, now, fetched_at) {
            Lookup::Hit(token) => return Ok(Some(token)),
            Lookup::Miss { generation } => generation,
        };
        let found = self.store.usable_token(&credential.hash(), now).await?.map(Arc::new);
        let mut state = self.state.lock();
        match &found {
            Some(token) => {
                if state.known.len() >= MAX_TOKENS {
                    state.known.clear();
                }
                // If the cache was cleared meanwhile, the result is not cached.
                if state.generation == generation {
                    state.known.insert(
                        digest,
                        CachedToken { token: Arc::clone(token), fetched_at, is_refreshing: false },
                    );
                }
                state.used.insert(token.id.clone(), now);
            }
            None => {
                state.known.remove(&digest);
            }
        }
        Ok(found)
    }

    fn lookup(&self, digest: &blake3::Hash, now: Timestamp, at: Instant) -> Lookup {
        let mut state = self.state.lock();
        let miss = Lookup::Miss { generation: state.generation };
        let State { known, used, .. } = &mut *state;
        let Some(known) = known.get_mut(digest).filter(|known| known.token.validity.is_usable(now)) else {
            return miss;
        };
        let max_age = if known.is_refreshing { MAX_AGE } else { REFRESH_AFTER };
        if at.saturating_duration_since(known.fetched_at) >= max_age {
            known.is_refreshing = true;
            return miss;
        }
        let token = Arc::clone(&known.token);
        // A lookup without a copy, since it is part of every request.
        match used.get_mut(&token.id) {
            Some(used) => *used = now,
            None => {
                used.insert(token.id.clone(), now);
            }
        }
        Lookup::Hit(token)
    }

    /// Removes all entries, after a token was changed.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock();
        state.known.clear();
        state.generation += 1;
    }

    /// Stores the last-used times.
    pub(crate) async fn write_uses(&self) {
        let used = std::mem::take(&mut self.state.lock().used);
        for (id, at) in used {
            // A failed write only loses a last-used time.
            let _ = self.store.touch_token(&id, at).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use foreword_agent::clock_and_rng::Machine;
    use foreword_core::api_token::TokenLimits;
    use foreword_store::location::Location;
    use foreword_store::tokens::NewToken;

    use super::*;

    async fn cache(folder: &tempfile::TempDir) -> (TokenCache, Credential) {
        let machine: Arc<dyn ClockAndRng> = Arc::new(Machine);
        let (now, credential) = (machine.timestamp(), Credential::from_random([7; 32]));
        let store = Store::open(&Location::file(folder.path().join("foreword.db")), now).await.unwrap();
        let new = NewToken {
            id: machine.id("tok").unwrap(),
            hash: credential.hash(),
            name: "alice's".to_owned(),
            user: "alice".to_owned(),
            scopes: [].into(),
            mode: None,
            created_at: now,
            expires_at: None,
            limits: TokenLimits::default(),
        };
        store.add_token(new).await.unwrap();
        (TokenCache::new(store, machine), credential)
    }

    #[tokio::test]
    async fn one_of_many_requests_refreshes_a_stale_token() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, credential) = cache(&folder).await;
        let (digest, now) = (credential.digest(), cache.clock_and_rng.timestamp());
        let fetched_at =
            || cache.state.lock().known.get(&digest).map_or_else(Instant::now, |known| known.fetched_at);
        let asks = |age| matches!(cache.lookup(&digest, now, fetched_at() + age), Lookup::Miss { .. });
        let just = MAX_AGE.saturating_sub(Duration::from_nanos(1));
        assert!(asks(Duration::ZERO) && asks(Duration::ZERO));
        cache.find(&credential).await.unwrap().unwrap();
        assert_eq!(
            [asks(Duration::ZERO), asks(REFRESH_AFTER), asks(REFRESH_AFTER), asks(just)],
            [false, true, false, false]
        );
        // The refresh has not finished, and the entry is too old.
        assert_eq!([asks(MAX_AGE), asks(MAX_AGE)], [true, true]);
        cache.state.lock().known.clear();
        cache.find(&credential).await.unwrap().unwrap();
        assert_eq!([asks(Duration::ZERO), asks(just), asks(just)], [false, true, false]);
    }

    #[tokio::test]
    async fn clear_during_a_lookup_discards_its_result() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, credential) = cache(&folder).await;
        // Polls a lookup until it is pending. The store may be faster; then it is retried.
        let asking = loop {
            cache.state.lock().known.clear();
            let mut asking = Box::pin(cache.find(&credential));
            let once =
                std::future::poll_fn(|context| Poll::Ready(asking.as_mut().poll(context).is_pending()));
            if once.await {
                break asking;
            }
        };
        cache.clear();
        assert!(asking.await.unwrap().is_some());
        assert!(cache.state.lock().known.is_empty());
    }
}
