//! The limits of each token: requests per minute, concurrent turns, dollars per day. A token's own limits override the
//! server's. Requests and turns are counted here, dollars by the agent.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foreword_agent::spending::{TokenAccount, TokenSpending};
use foreword_core::id::TokenId;
use foreword_store::tokens::ApiToken;
use foreword_workspace::config::ServerLimits;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::rate_limit::SlidingWindow;
use super::refusal::Refusal;

/// The number of tokens above which the counters of idle ones are removed.
const MAX_TOKENS: usize = 10_000;
const MIB: u64 = 1024 * 1024;

/// The counters of all tokens.
pub(crate) struct Limits {
    spending: Arc<TokenSpending>,
    began: Instant,
    counters: Mutex<HashMap<TokenId, Arc<Counters>>>,
}

/// The counters of a token.
#[derive(Default)]
struct Counters {
    turns: AtomicU64,
    rate: Mutex<SlidingWindow>,
}

/// The maximum body size for a token.
pub(crate) fn max_body_bytes(token: &ApiToken, limits: &ServerLimits) -> usize {
    let own = token.limits.body_mb.map(|mb| usize::try_from(mb.saturating_mul(MIB)).unwrap_or(usize::MAX));
    own.map_or(limits.body, |own| own.min(limits.body))
}

/// A permit for a concurrent turn.
#[must_use = "the permit is released when this is dropped"]
pub(crate) struct TurnPermit {
    _running: RunningTurn,
    /// The account to charge for the turn.
    pub(crate) account: TokenAccount,
}

/// Counts as a concurrent turn until it is dropped.
struct RunningTurn(Arc<Counters>);

impl Limits {
    pub(crate) fn new(spending: Arc<TokenSpending>) -> Self {
        Self { spending, began: Instant::now(), counters: Mutex::default() }
    }

    /// Counts a request and takes a turn permit.
    pub(crate) fn admit(&self, token: &ApiToken, limits: &ServerLimits) -> Result<TurnPermit, Refusal> {
        let counters = self.counters(&token.id);
        self.count(&counters, token, limits)?;
        self.take_turn(counters, token, limits)
    }

    /// Counts a request without a turn.
    pub(crate) fn count_request(&self, token: &ApiToken, limits: &ServerLimits) -> Result<(), Refusal> {
        self.count(&self.counters(&token.id), token, limits)
    }

    /// Takes a turn permit.
    pub(crate) fn begin_turn(&self, token: &ApiToken, limits: &ServerLimits) -> Result<TurnPermit, Refusal> {
        self.take_turn(self.counters(&token.id), token, limits)
    }

    fn count(&self, counters: &Counters, token: &ApiToken, limits: &ServerLimits) -> Result<(), Refusal> {
        let limit = token.limits.requests_per_minute.unwrap_or(limits.requests_per_minute);
        let counted = counters.rate.lock().count(self.began.elapsed(), limit);
        counted.map_err(|wait| Refusal::TooManyRequests { limit, wait })
    }

    fn take_turn(
        &self,
        counters: Arc<Counters>,
        token: &ApiToken,
        limits: &ServerLimits,
    ) -> Result<TurnPermit, Refusal> {
        if let Some(limit) = token.limits.usd_per_day.or(limits.usd_per_day) {
            let checked = self.spending.check(&token.id, limit);
            checked.map_err(|wait| Refusal::Spent { limit, wait })?;
        }
        let limit = token.limits.concurrent_turns.unwrap_or(limits.concurrent_turns);
        let more = |turns| (turns < limit).then_some(turns + 1);
        match counters.turns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => {
                let account = self.spending.account(&token.id);
                Ok(TurnPermit { _running: RunningTurn(counters), account })
            }
            Err(_) => Err(Refusal::TooManyTurns { limit }),
        }
    }

    fn counters(&self, token: &TokenId) -> Arc<Counters> {
        let mut all = self.counters.lock();
        // A lookup without a copy, since it is part of every request.
        if let Some(counters) = all.get(token) {
            return Arc::clone(counters);
        }
        if all.len() >= MAX_TOKENS {
            // Keeps those with running turns.
            all.retain(|_, counters| counters.turns.load(Ordering::Relaxed) > 0);
        }
        Arc::clone(all.entry(token.clone()).or_default())
    }
}

impl TurnPermit {
    /// Releases the permit. The cost is charged later.
    pub(crate) fn release(self) -> TokenAccount {
        self.account
    }
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.0.turns.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
    use foreword_core::api_token::TokenLimits;
    use foreword_core::money::Money;
    use foreword_core::timestamp::Timestamp;
    use foreword_store::location::Location;
    use foreword_store::store::Store;

    use super::*;

    const ALL: ServerLimits = ServerLimits {
        body: 1_000,
        requests_per_minute: 1_000_000,
        concurrent_turns: 2,
        usd_per_day: Some(1.0),
        connections: 10,
        header: Duration::from_secs(10),
    };

    fn token(id: &str, limits: TokenLimits) -> ApiToken {
        ApiToken {
            id: TokenId::new(id).unwrap(),
            name: String::new(),
            user: "alice".to_owned(),
            scopes: Default::default(),
            mode: None,
            created_at: Timestamp::from_micros(0),
            last_used_at: None,
            validity: Default::default(),
            limits,
        }
    }

    async fn limits(folder: &tempfile::TempDir) -> Limits {
        let location = Location::file(folder.path().join("foreword.db"));
        let machine: Arc<dyn ClockAndRng> = Arc::new(Machine);
        let store = Store::open(&location, machine.timestamp()).await.unwrap();
        Limits::new(Arc::new(TokenSpending::new(store, machine)))
    }

    #[tokio::test]
    async fn ended_turn_frees_its_permit() {
        let folder = tempfile::tempdir().unwrap();
        let limits = limits(&folder).await;
        let token = token("one", TokenLimits::default());
        let first = limits.admit(&token, &ALL).unwrap();
        let _second = limits.admit(&token, &ALL).unwrap();
        assert_eq!(limits.admit(&token, &ALL).err(), Some(Refusal::TooManyTurns { limit: 2 }));
        drop(first);
        assert!(limits.admit(&token, &ALL).is_ok());
    }

    #[tokio::test]
    async fn spending_is_shared_and_survives_restart() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (limits(&folder).await, limits(&folder).await);
        let spender = token("spender", TokenLimits::default());
        other.count_request(&spender, &ALL).unwrap();
        one.admit(&spender, &ALL).unwrap().account.charge(Money::from_dollars(0.6));
        assert!(one.admit(&spender, &ALL).is_ok());
        one.spending.charge(&spender.id, Money::from_dollars(0.4));
        let refused = one.admit(&spender, &ALL).err().unwrap();
        assert_eq!(refused.code(), "daily_budget_exceeded");
        assert!((1..=86_400).contains(&refused.retry_after()), "{refused:?}");
        assert!(other.admit(&spender, &ALL).is_ok());
        one.spending.share().await.unwrap();
        other.spending.share().await.unwrap();
        assert!(other.admit(&spender, &ALL).is_err());
        // A second call does not count twice.
        one.spending.share().await.unwrap();
        let again = limits(&folder).await;
        again.spending.load().await.unwrap();
        assert!(again.spending.check(&spender.id, 1.0).is_err());
        assert!(again.spending.check(&spender.id, 1.01).is_ok());
        let richer = token("spender", TokenLimits { usd_per_day: Some(5.0), ..TokenLimits::default() });
        assert!(again.admit(&richer, &ALL).is_ok());
    }
}
