//! The daily spending of API tokens, against their limits. Counted in memory, stored every few seconds and shared
//! between nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use foreword_core::id::TokenId;
use foreword_core::money::Money;
use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use parking_lot::{Mutex, MutexGuard};

use crate::clock_and_rng::ClockAndRng;

/// The spending of all tokens.
pub struct TokenSpending {
    store: Store,
    clock: Arc<dyn ClockAndRng>,
    /// In the order of ids, so that two nodes that store their spending can't deadlock.
    today: Mutex<(Day, BTreeMap<TokenId, Spent>)>,
}

/// The spending of a token today.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    /// Stored, of all nodes.
    stored: Money,
    /// Not stored yet.
    unsaved: Money,
    /// Being stored.
    saving: Money,
}

/// A day in UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Day(i64);

/// The token to charge for a turn.
pub struct TokenAccount {
    token: TokenId,
    spending: Arc<TokenSpending>,
}

impl TokenAccount {
    /// Charges the token.
    pub fn charge(&self, money: Money) {
        self.spending.charge(&self.token, money);
    }
}

impl TokenSpending {
    /// The spending in `store`; see [`TokenSpending::load`].
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn ClockAndRng>) -> Self {
        Self { store, clock, today: Mutex::default() }
    }

    /// The account of a token.
    #[must_use]
    pub fn account(self: &Arc<Self>, token: &TokenId) -> TokenAccount {
        TokenAccount { token: token.clone(), spending: Arc::clone(self) }
    }

    /// Whether the token has spent less than `usd` today; if not, how long the day lasts.
    ///
    /// # Errors
    /// If the limit is reached.
    pub fn check(&self, token: &TokenId, usd: f64) -> Result<(), Duration> {
        let spent = self.today().1.get(token).map_or(Money::ZERO, Spent::sum);
        if spent >= Money::from_dollars(usd) { Err(Day::rest(self.clock.timestamp())) } else { Ok(()) }
    }

    /// Charges a token.
    pub fn charge(&self, token: &TokenId, money: Money) {
        if money > Money::ZERO {
            let mut today = self.today();
            let spent = today.1.entry(token.clone()).or_default();
            spent.unsaved = spent.unsaved + money;
        }
    }

    /// Loads today's spending at the start.
    pub async fn load(&self) -> Result<(), StoreError> {
        let day = self.today().0;
        self.stored(day, self.store.spending(&day.name()).await?);
        Ok(())
    }

    /// Stores this node's spending and loads that of the others.
    ///
    /// # Errors
    /// If the store can't be written. The next call repeats it.
    pub async fn share(&self) -> Result<(), StoreError> {
        let (day, unsaved) = {
            let mut today = self.today();
            let spent = today.1.iter_mut();
            let unsaved: Vec<_> = spent.filter_map(|(id, spent)| Some((id.clone(), spent.save()?))).collect();
            (today.0, unsaved)
        };
        let written = if unsaved.is_empty() {
            self.store.spending(&day.name()).await
        } else {
            self.store.add_spending(&day.name(), unsaved).await
        };
        match written {
            Ok(all) => self.stored(day, all),
            Err(error) => {
                for spent in self.today().1.values_mut() {
                    spent.unsaved = spent.unsaved + std::mem::take(&mut spent.saving);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    fn stored(&self, day: Day, all: Vec<(TokenId, Money)>) {
        let mut today = self.today();
        if today.0 == day {
            for (id, stored) in all {
                let spent = today.1.entry(id).or_default();
                (spent.stored, spent.saving) = (stored, Money::ZERO);
            }
        }
    }

    /// The spending of the current day. A new day starts without spending.
    fn today(&self) -> MutexGuard<'_, (Day, BTreeMap<TokenId, Spent>)> {
        let day = Day::of(self.clock.timestamp());
        // No code panics while holding the lock.
        let mut today = self.today.lock();
        if day > today.0 {
            *today = (day, BTreeMap::new());
        }
        today
    }
}

impl Spent {
    fn sum(&self) -> Money {
        self.stored + self.unsaved + self.saving
    }

    /// The amount to store now.
    fn save(&mut self) -> Option<Money> {
        self.saving = std::mem::take(&mut self.unsaved);
        (self.saving != Money::ZERO).then_some(self.saving)
    }
}

impl Day {
    const MICROS: i64 = 86_400_000_000;

    fn of(at: Timestamp) -> Self {
        Self(at.as_micros().div_euclid(Self::MICROS))
    }

    /// The time until the end of the day.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_is_named_by_its_date() {
        let at: Timestamp = "2026-11-16T23:59:59Z".parse().unwrap();
        assert_eq!((Day::of(at).name().as_str(), Day::rest(at)), ("2026-11-16", Duration::from_secs(1)));
    }
}
