//! The tokens that were shown lately, so that not every request asks the database. One that was revoked opens nothing a
//! moment later, whichever process revoked it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foreword_agent::surroundings::Surroundings;
use foreword_core::id::TokenId;
use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::tokens::ApiToken;

use super::credential::Credential;

/// How long what the database said is believed. A revocation by another process of the same machine is not announced.
const BELIEVED: Duration = Duration::from_millis(250);
/// How many tokens are remembered; wrong ones are not.
const MOST: usize = 10_000;

/// The tokens that were shown lately.
pub(crate) struct TokenKeeper {
    store: Store,
    surroundings: Arc<dyn Surroundings>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: HashMap<blake3::Hash, Known>,
    /// When tokens were used that the database does not know of yet.
    used: BTreeMap<TokenId, Timestamp>,
}

struct Known {
    token: Arc<ApiToken>,
    asked: Instant,
}

impl TokenKeeper {
    pub(crate) fn new(store: Store, surroundings: Arc<dyn Surroundings>) -> Self {
        Self { store, surroundings, state: Mutex::default() }
    }

    /// The token, if it opens anything now.
    pub(crate) async fn find(&self, credential: &Credential) -> Result<Option<Arc<ApiToken>>, StoreError> {
        let (digest, now) = (credential.digest(), self.surroundings.timestamp());
        if let Some(token) = self.believed(&digest, now) {
            return Ok(Some(token));
        }
        let found = self.store.usable_token(&credential.hash(), now).await?.map(Arc::new);
        let mut state = self.state();
        match &found {
            Some(token) => {
                if state.known.len() >= MOST {
                    state.known.clear();
                }
                state.known.insert(digest, Known { token: Arc::clone(token), asked: Instant::now() });
                state.used.insert(token.id.clone(), now);
            }
            None => {
                state.known.remove(&digest);
            }
        }
        Ok(found)
    }

    fn believed(&self, digest: &blake3::Hash, now: Timestamp) -> Option<Arc<ApiToken>> {
        let mut state = self.state();
        let known = state.known.get(digest).filter(|known| known.asked.elapsed() < BELIEVED)?;
        let token = known.token.validity.is_usable(now).then(|| Arc::clone(&known.token))?;
        // The id is looked up before it is copied: this is on the way of every request.
        match state.used.get_mut(&token.id) {
            Some(used) => *used = now,
            None => {
                state.used.insert(token.id.clone(), now);
            }
        }
        Some(token)
    }

    /// Forgets what the database said: somebody has changed a token.
    pub(crate) fn forget(&self) {
        self.state().known.clear();
    }

    /// Writes down when tokens were last used.
    pub(crate) async fn write_uses(&self) {
        let used = std::mem::take(&mut self.state().used);
        for (id, at) in used {
            // A database that is away misses a time, and nothing else.
            let _ = self.store.touch_token(&id, at).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing can fail while it is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
