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
/// How old it is when the first who comes asks again; the others believe it meanwhile, so that not all of them ask.
const ASKED_AGAIN: Duration = Duration::from_millis(150);
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
    /// How often all of them were forgotten.
    forgotten: u64,
    /// When tokens were used that the database does not know of yet.
    used: BTreeMap<TokenId, Timestamp>,
}

struct Known {
    token: Arc<ApiToken>,
    asked: Instant,
    /// Whether somebody asks again.
    is_asked: bool,
}

/// What is known of a token without asking.
enum Kept {
    Believed(Arc<ApiToken>),
    /// It has to be asked for. Tokens were forgotten so often before.
    Ask {
        forgotten: u64,
    },
}

impl TokenKeeper {
    pub(crate) fn new(store: Store, surroundings: Arc<dyn Surroundings>) -> Self {
        Self { store, surroundings, state: Mutex::default() }
    }

    /// The token, if it opens anything now.
    pub(crate) async fn find(&self, credential: &Credential) -> Result<Option<Arc<ApiToken>>, StoreError> {
        let (digest, now) = (credential.digest(), self.surroundings.timestamp());
        let asked = Instant::now();
        let forgotten = match self.kept(&digest, now, asked) {
            Kept::Believed(token) => return Ok(Some(token)),
            Kept::Ask { forgotten } => forgotten,
        };
        let found = self.store.usable_token(&credential.hash(), now).await?.map(Arc::new);
        let mut state = self.state();
        match &found {
            Some(token) => {
                if state.known.len() >= MOST {
                    state.known.clear();
                }
                // What was said before somebody changed a token is good for this request at most.
                if state.forgotten == forgotten {
                    state.known.insert(digest, Known { token: Arc::clone(token), asked, is_asked: false });
                }
                state.used.insert(token.id.clone(), now);
            }
            None => {
                state.known.remove(&digest);
            }
        }
        Ok(found)
    }

    fn kept(&self, digest: &blake3::Hash, now: Timestamp, at: Instant) -> Kept {
        let mut state = self.state();
        let ask = Kept::Ask { forgotten: state.forgotten };
        let State { known, used, .. } = &mut *state;
        let Some(known) = known.get_mut(digest).filter(|known| known.token.validity.is_usable(now)) else {
            return ask;
        };
        let believed = if known.is_asked { BELIEVED } else { ASKED_AGAIN };
        if at.saturating_duration_since(known.asked) >= believed {
            known.is_asked = true;
            return ask;
        }
        let token = Arc::clone(&known.token);
        // The id is looked up before it is copied: this is on the way of every request.
        match used.get_mut(&token.id) {
            Some(used) => *used = now,
            None => {
                used.insert(token.id.clone(), now);
            }
        }
        Kept::Believed(token)
    }

    /// Forgets what the database said: somebody has changed a token.
    pub(crate) fn forget(&self) {
        let mut state = self.state();
        state.known.clear();
        state.forgotten += 1;
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

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use foreword_agent::surroundings::Machine;
    use foreword_core::api_token::TokenLimits;
    use foreword_store::location::Location;
    use foreword_store::tokens::NewToken;

    use super::*;

    async fn keeper(folder: &tempfile::TempDir) -> (TokenKeeper, Credential) {
        let machine: Arc<dyn Surroundings> = Arc::new(Machine);
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
        (TokenKeeper::new(store, machine), credential)
    }

    #[tokio::test]
    async fn of_many_who_come_at_once_one_asks_and_nobody_believes_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let (keeper, credential) = keeper(&folder).await;
        let (digest, now) = (credential.digest(), keeper.surroundings.timestamp());
        let asked = || keeper.state().known.get(&digest).map_or_else(Instant::now, |known| known.asked);
        let asks = |age| matches!(keeper.kept(&digest, now, asked() + age), Kept::Ask { .. });
        let just = BELIEVED.saturating_sub(Duration::from_nanos(1));
        assert!(asks(Duration::ZERO) && asks(Duration::ZERO));
        keeper.find(&credential).await.unwrap().unwrap();
        assert_eq!(
            [asks(Duration::ZERO), asks(ASKED_AGAIN), asks(ASKED_AGAIN), asks(just)],
            [false, true, false, false]
        );
        // Whoever asks has no answer yet, and it is too long ago.
        assert_eq!([asks(BELIEVED), asks(BELIEVED)], [true, true]);
        keeper.state().known.clear();
        keeper.find(&credential).await.unwrap().unwrap();
        assert_eq!([asks(Duration::ZERO), asks(just), asks(just)], [false, true, false]);
    }

    #[tokio::test]
    async fn what_is_forgotten_while_somebody_asks_is_not_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let (keeper, credential) = keeper(&folder).await;
        // It has begun to ask, and has no answer; a database may be quicker than that, and is then asked again.
        let asking = loop {
            keeper.state().known.clear();
            let mut asking = Box::pin(keeper.find(&credential));
            let once =
                std::future::poll_fn(|context| Poll::Ready(asking.as_mut().poll(context).is_pending()));
            if once.await {
                break asking;
            }
        };
        keeper.forget();
        assert!(asking.await.unwrap().is_some());
        assert!(keeper.state().known.is_empty());
    }
}
