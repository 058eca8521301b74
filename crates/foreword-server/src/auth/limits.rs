//! What each token may ask for: requests in a minute, turns at a time, money in a day. A token that may have more or less than
//! the others says so itself. Counted in memory, at the cost of a lock and a look; what was spent is shared with the other
//! nodes every few seconds, and outlives the process.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foreword_agent::surroundings::Surroundings;
use foreword_core::id::TokenId;
use foreword_core::money::Money;
use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::tokens::ApiToken;
use foreword_workspace::config::ServerLimits;

use super::rate::Rate;
use super::refusal::Refusal;

/// How many tokens are counted for before those that ask for nothing now are forgotten.
const MOST: usize = 10_000;
const MIB: u64 = 1024 * 1024;

/// What is counted for every token.
pub(crate) struct Limits {
    store: Store,
    surroundings: Arc<dyn Surroundings>,
    began: Instant,
    accounts: Mutex<HashMap<TokenId, Arc<Account>>>,
}

/// What is counted for one.
#[derive(Default)]
struct Account {
    turns: AtomicU64,
    rate: Mutex<Rate>,
    spent: Mutex<Spent>,
}

/// What was spent on a day.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    day: Day,
    /// As the database has it, all nodes together.
    stored: Money,
    /// What it does not know of yet.
    fresh: Money,
    /// What it is being told.
    on_its_way: Money,
}

/// A day (UTC), counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Day(i64);

/// How large a body of a request with `token` may be.
pub(crate) fn largest_body(token: &ApiToken, limits: &ServerLimits) -> usize {
    let own = token.limits.body_mb.map(|mb| usize::try_from(mb.saturating_mul(MIB)).unwrap_or(usize::MAX));
    own.map_or(limits.body, |own| own.min(limits.body))
}

/// What a turn that has ended is going to be paid with.
pub(crate) struct Bill {
    account: Arc<Account>,
    surroundings: Arc<dyn Surroundings>,
}

/// A turn that a token may take. Whoever holds it takes one of the places there are.
#[must_use = "the place is free again as soon as this is dropped"]
pub(crate) struct Admitted {
    account: Arc<Account>,
    surroundings: Arc<dyn Surroundings>,
}

impl Limits {
    pub(crate) fn new(store: Store, surroundings: Arc<dyn Surroundings>) -> Self {
        Self { store, surroundings, began: Instant::now(), accounts: Mutex::default() }
    }

    /// Counts a request, and takes a turn with it: what a drop-in endpoint asks before it does anything.
    pub(crate) fn admit(&self, token: &ApiToken, limits: &ServerLimits) -> Result<Admitted, Refusal> {
        let account = self.account(&token.id);
        self.count(&account, token, limits)?;
        self.take_turn(account, token, limits)
    }

    /// Counts a request that begins no turn, or whose turn is taken apart from it.
    pub(crate) fn count_request(&self, token: &ApiToken, limits: &ServerLimits) -> Result<(), Refusal> {
        self.count(&self.account(&token.id), token, limits)
    }

    /// Takes a turn. It is under way until what this gives is dropped.
    pub(crate) fn begin_turn(&self, token: &ApiToken, limits: &ServerLimits) -> Result<Admitted, Refusal> {
        self.take_turn(self.account(&token.id), token, limits)
    }

    /// Notes that a token has spent money, for whoever no longer has what [`admit`](Self::admit) gave.
    pub(crate) fn spent(&self, token: &TokenId, money: Money) {
        let now = self.surroundings.timestamp();
        self.account(token).spend(Day::of(now), money);
    }

    /// Tells the database what was spent, and hears what was spent elsewhere.
    pub(crate) async fn share_spending(&self) -> Result<(), StoreError> {
        let today = Day::of(self.surroundings.timestamp());
        let accounts: BTreeMap<_, _> =
            self.accounts().iter().map(|(id, account)| (id.clone(), Arc::clone(account))).collect();
        if accounts.is_empty() {
            return Ok(());
        }
        // In the order of their names, so that two nodes never wait for each other.
        let fresh: Vec<_> = accounts
            .iter()
            .filter_map(|(id, account)| account.take_fresh(today).map(|fresh| (id.clone(), fresh)))
            .collect();
        let written = if fresh.is_empty() {
            self.store.spending(&today.name()).await
        } else {
            self.store.add_spending(&today.name(), fresh).await
        };
        match written {
            Ok(all) => all.iter().for_each(|(id, stored)| self.account(id).stored(today, *stored)),
            Err(error) => {
                accounts.values().for_each(|account| account.put_back());
                return Err(error);
            }
        }
        Ok(())
    }

    /// Hears what was spent today before this process began.
    pub(crate) async fn recall(&self) -> Result<(), StoreError> {
        let today = Day::of(self.surroundings.timestamp());
        let all = self.store.spending(&today.name()).await?;
        all.iter().for_each(|(id, stored)| self.account(id).stored(today, *stored));
        Ok(())
    }

    fn count(&self, account: &Account, token: &ApiToken, limits: &ServerLimits) -> Result<(), Refusal> {
        let limit = token.limits.requests_per_minute.unwrap_or(limits.requests_per_minute);
        let counted = unpoisoned(&account.rate).count(self.began.elapsed(), limit);
        counted.map_err(|wait| Refusal::TooManyRequests { limit, wait })
    }

    fn take_turn(
        &self,
        account: Arc<Account>,
        token: &ApiToken,
        limits: &ServerLimits,
    ) -> Result<Admitted, Refusal> {
        if let Some(limit) = token.limits.usd_per_day.or(limits.usd_per_day) {
            let now = self.surroundings.timestamp();
            let spent = account.spent_on(Day::of(now));
            if spent >= Money::from_dollars(limit) {
                return Err(Refusal::Spent { limit, wait: Day::rest(now) });
            }
        }
        let limit = token.limits.concurrent_turns.unwrap_or(limits.concurrent_turns);
        let more = |turns| (turns < limit).then_some(turns + 1);
        match account.turns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Admitted { account, surroundings: Arc::clone(&self.surroundings) }),
            Err(_) => Err(Refusal::TooManyTurns { limit }),
        }
    }

    fn account(&self, token: &TokenId) -> Arc<Account> {
        let mut accounts = self.accounts();
        // Looked up before it is copied: this is on the way of every request.
        if let Some(account) = accounts.get(token) {
            return Arc::clone(account);
        }
        if accounts.len() >= MOST {
            // Whoever has spent something or is at something is not forgotten.
            accounts.retain(|_, account| account.is_in_use());
        }
        Arc::clone(accounts.entry(token.clone()).or_default())
    }

    fn accounts(&self) -> MutexGuard<'_, HashMap<TokenId, Arc<Account>>> {
        unpoisoned(&self.accounts)
    }
}

impl Account {
    fn spend(&self, day: Day, money: Money) {
        let mut spent = unpoisoned(&self.spent);
        spent.turn_to(day);
        spent.fresh = spent.fresh + money;
    }

    fn spent_on(&self, day: Day) -> Money {
        let mut spent = unpoisoned(&self.spent);
        spent.turn_to(day);
        spent.sum()
    }

    fn take_fresh(&self, day: Day) -> Option<Money> {
        let mut spent = unpoisoned(&self.spent);
        spent.turn_to(day);
        let fresh = std::mem::take(&mut spent.fresh);
        spent.on_its_way = fresh;
        (fresh != Money::ZERO).then_some(fresh)
    }

    /// It was not written: it is said again next time.
    fn put_back(&self) {
        let mut spent = unpoisoned(&self.spent);
        spent.fresh = spent.fresh + std::mem::take(&mut spent.on_its_way);
    }

    fn stored(&self, day: Day, stored: Money) {
        let mut spent = unpoisoned(&self.spent);
        if day >= spent.day {
            spent.turn_to(day);
            (spent.stored, spent.on_its_way) = (stored, Money::ZERO);
        }
    }

    fn is_in_use(&self) -> bool {
        self.turns.load(Ordering::Relaxed) > 0 || unpoisoned(&self.spent).sum() > Money::ZERO
    }
}

impl Spent {
    fn turn_to(&mut self, day: Day) {
        if day > self.day {
            *self = Self { day, ..Self::default() };
        }
    }

    fn sum(&self) -> Money {
        self.stored + self.fresh + self.on_its_way
    }
}

impl Day {
    const MICROS: i64 = 86_400_000_000;

    fn of(at: Timestamp) -> Self {
        Self(at.as_micros().div_euclid(Self::MICROS))
    }

    /// How long the day of `at` goes on.
    fn rest(at: Timestamp) -> Duration {
        let over = at.as_micros().rem_euclid(Self::MICROS);
        Duration::from_micros(u64::try_from(Self::MICROS - over).unwrap_or_default())
    }

    /// Such as `2026-11-16`.
    fn name(self) -> String {
        let mut name = Timestamp::from_micros(self.0.saturating_mul(Self::MICROS)).to_string();
        name.truncate("2026-11-16".len());
        name
    }
}

impl Admitted {
    /// Notes what the turn has cost.
    pub(crate) fn spent(&self, money: Money) {
        self.account.spend(Day::of(self.surroundings.timestamp()), money);
    }

    /// Leaves the place to others, while nobody knows yet what the turn has cost.
    pub(crate) fn leave(self) -> Bill {
        Bill { account: Arc::clone(&self.account), surroundings: Arc::clone(&self.surroundings) }
    }
}

impl Bill {
    /// Notes what it was.
    pub(crate) fn pay(self, money: Money) {
        self.account.spend(Day::of(self.surroundings.timestamp()), money);
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.account.turns.fetch_sub(1, Ordering::Relaxed);
    }
}

fn unpoisoned<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing can fail while it is locked.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use foreword_agent::surroundings::Machine;
    use foreword_core::api_token::TokenLimits;
    use foreword_store::location::Location;

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
        let machine: Arc<dyn Surroundings> = Arc::new(Machine);
        let store = Store::open(&location, machine.timestamp()).await.unwrap();
        Limits::new(store, machine)
    }

    #[tokio::test]
    async fn a_turn_that_has_ended_makes_room_for_the_next() {
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
    async fn what_was_spent_counts_on_every_node_and_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (limits(&folder).await, limits(&folder).await);
        let spender = token("spender", TokenLimits::default());
        other.count_request(&spender, &ALL).unwrap();
        one.admit(&spender, &ALL).unwrap().spent(Money::from_dollars(0.6));
        assert!(one.admit(&spender, &ALL).is_ok());
        one.spent(&spender.id, Money::from_dollars(0.4));
        let refused = one.admit(&spender, &ALL).err().unwrap();
        assert_eq!(refused.code(), "spent_for_today");
        assert!((1..=86_400).contains(&refused.retry_after()), "{refused:?}");
        assert!(other.admit(&spender, &ALL).is_ok());
        one.share_spending().await.unwrap();
        other.share_spending().await.unwrap();
        assert!(other.admit(&spender, &ALL).is_err());
        // Said twice, counted once.
        one.share_spending().await.unwrap();
        let again = limits(&folder).await;
        again.recall().await.unwrap();
        assert_eq!(
            again.account(&spender.id).spent_on(Day::of(again.surroundings.timestamp())),
            Money::from_dollars(1.0)
        );
        let richer = token("spender", TokenLimits { usd_per_day: Some(5.0), ..TokenLimits::default() });
        assert!(again.admit(&richer, &ALL).is_ok());
    }

    #[test]
    fn a_day_is_called_by_its_date() {
        let at: Timestamp = "2026-11-16T23:59:59Z".parse().unwrap();
        assert_eq!((Day::of(at).name().as_str(), Day::rest(at)), ("2026-11-16", Duration::from_secs(1)));
    }
}
