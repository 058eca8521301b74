//! Enforces budgets: decides whether money may be spent, and records what is spent: turns, compaction and proxied
//! requests against `budgets`, API tokens against their daily limits. Sums of `budgets` are cached in memory: read from
//! the event log, read again after 30 seconds because other nodes spend too, and increased by the spending of this
//! process in between.

mod token_spending;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use foreword_core::budget_rule::{Account, BudgetNotice, BudgetRule, BudgetVerdict, Spender};
use foreword_core::event::{Event, EventType};
use foreword_core::model::ModelRequest;
use foreword_core::models::ModelFacts;
use foreword_core::money::{Money, Price};
use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::events::{CostFilter, EventFilter, EventPage, EventQueue};
use foreword_store::store::Store;
use foreword_workspace::workspace::Workspace;
use jiff::Zoned;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::clock_and_rng::ClockAndRng;

pub use self::token_spending::{TokenAccount, TokenSpending};

/// The time after which a sum is read again.
const SUM_TTL: Duration = Duration::from_secs(30);
/// The time after which no call uses a sum any more without reading it again.
const MAX_SUM_AGE: Duration = Duration::from_secs(60);
/// The timeout of flushing the event queue before a sum is read.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum number of cached sums.
const MAX_SUMS: usize = 4_096;
/// The maximum number of warnings read per period.
const MAX_WARNINGS: u64 = 1_000;

/// The spending of all accounts. Clones share it.
#[derive(Clone)]
pub struct SpendTracker(Arc<Inner>);

struct Inner {
    workspace: Arc<Workspace>,
    store: Store,
    events: EventQueue,
    clock: Arc<dyn ClockAndRng>,
    sums: Mutex<BTreeMap<Key, Sum>>,
    /// The notices that are already logged, with the period of their account.
    logged: Mutex<BTreeSet<(EventType, String, Key)>>,
    tokens: Arc<TokenSpending>,
}

/// The account and the start of the period of a sum. Several budgets may share a sum.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    account: Account,
    since: Timestamp,
}

impl Key {
    fn new(budget_rule: &BudgetRule, account: Account, now: &Zoned) -> Self {
        Self { account, since: budget_rule.budget.per().began(now).timestamp().into() }
    }
}

struct Sum {
    logged: Money,
    read_at: Instant,
    /// Spending of this process that may be missing in `logged`.
    unlogged: Money,
    /// Estimated spending, which is never logged.
    estimated: Money,
    /// Whether it is being read again in the background.
    refreshing: bool,
}

impl Sum {
    fn spent(&self) -> Money {
        self.logged + self.unlogged + self.estimated
    }
}

/// A model call that is about to be made.
pub struct PlannedCall<'a> {
    /// Who pays.
    pub payer: Spender<'a>,
    /// Its minimum cost.
    pub at_least: Price,
    /// Whether an outdated sum is used and read again in the background, so that the call does not wait for the store.
    pub is_urgent: bool,
}

/// Whether a call may be made.
#[derive(Debug, Clone, PartialEq)]
pub enum SpendingDecision {
    /// Allowed, with warnings.
    Allowed(Vec<BudgetNotice>),
    /// A budget does not suffice.
    Refused(BudgetNotice),
}

/// How the cost of a call is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostSource {
    /// The cost is in the event log. Record it after the event is queued: otherwise a concurrent read may count it as
    /// logged and drop it.
    Logged,
    /// The provider reports no usage. An estimate is never logged.
    Estimated,
}

impl SpendTracker {
    pub(crate) fn new(
        workspace: Arc<Workspace>,
        store: Store,
        events: EventQueue,
        clock: Arc<dyn ClockAndRng>,
    ) -> Self {
        let tokens = Arc::new(TokenSpending::new(store.clone(), Arc::clone(&clock)));
        let (sums, logged) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { workspace, store, events, clock, sums, logged, tokens }))
    }

    /// The spending of API tokens.
    #[must_use]
    pub fn tokens(&self) -> &Arc<TokenSpending> {
        &self.0.tokens
    }

    /// Records the cost of a call.
    pub fn record(&self, payer: &Spender<'_>, price: Price, source: CostSource) {
        let Some(cost) = price.known().filter(|cost| *cost > Money::ZERO) else { return };
        for (_, sum) in self.sums().iter_mut().filter(|(key, _)| key.account.is_of(payer)) {
            match source {
                CostSource::Logged => sum.unlogged = sum.unlogged + cost,
                CostSource::Estimated => sum.estimated = sum.estimated + cost,
            }
        }
    }

    /// Decides whether a call may be made. Passes to `log` each warning once per period, and each refusal; those of
    /// urgent calls once per period too, because rejected clients retry.
    ///
    /// # Errors
    /// If the spending can't be read.
    pub async fn decide(
        &self,
        call: PlannedCall<'_>,
        mut log: impl FnMut(Event) + Send,
    ) -> Result<SpendingDecision, StoreError> {
        let config = Arc::clone(&self.0.workspace.snapshot().config);
        let mut warnings = Vec::new();
        if config.budgets.is_empty() {
            return Ok(SpendingDecision::Allowed(warnings));
        }
        let now = self.0.clock.now();
        for budget_rule in &config.budgets {
            let Some(account) = budget_rule.account(&call.payer) else { continue };
            let key = Key::new(budget_rule, account, &now);
            let spent = self.spent(&key, call.is_urgent).await?;
            match budget_rule.check(&key.account, spent, call.at_least, &now) {
                BudgetVerdict::Fine => {}
                BudgetVerdict::Stop(notice) => {
                    let kind = EventType::BudgetExceeded;
                    if !call.is_urgent || self.is_first_here(kind.clone(), &notice, key) {
                        log(self.event(kind, &notice));
                    }
                    return Ok(SpendingDecision::Refused(notice));
                }
                BudgetVerdict::Warn(notice) => {
                    if self.is_first_warning(&notice, key).await? {
                        log(self.event(EventType::BudgetWarning, &notice));
                    }
                    warnings.push(notice);
                }
            }
        }
        Ok(SpendingDecision::Allowed(warnings))
    }

    async fn spent(&self, key: &Key, is_urgent: bool) -> Result<Money, StoreError> {
        let known = self.sums().get_mut(key).map(|sum| {
            let age = sum.read_at.elapsed();
            let refresh = age >= SUM_TTL && is_urgent && !std::mem::replace(&mut sum.refreshing, true);
            (sum.spent(), age, refresh)
        });
        match known {
            Some((spent, age, _)) if age < SUM_TTL => Ok(spent),
            Some((spent, age, refresh)) if is_urgent && age < MAX_SUM_AGE => {
                if refresh {
                    let (spending, key) = (self.clone(), key.clone());
                    // If the store fails, the old sum stays.
                    tokio::spawn(async move { spending.read(&key).await.map(drop) });
                }
                Ok(spent)
            }
            // Use the outdated sum if the store does not respond.
            Some((spent, ..)) => Ok(self.read(key).await.unwrap_or(spent)),
            None => self.read(key).await,
        }
    }

    /// Reads a sum from the event log.
    async fn read(&self, key: &Key) -> Result<Money, StoreError> {
        let before = self.sums().get(key).map_or(Money::ZERO, |sum| sum.unlogged);
        let flushed = tokio::time::timeout(FLUSH_TIMEOUT, self.0.events.flush()).await;
        let is_flushed = matches!(flushed, Ok(Ok(())));
        let filter = CostFilter { since: Some(key.since), ..of_account(&key.account) };
        let read = self.0.store.cost(filter).await;
        let mut sums = self.sums();
        if read.is_err() {
            sums.get_mut(key).into_iter().for_each(|sum| sum.refreshing = false);
        }
        let logged = read?.cost();
        if sums.len() >= MAX_SUMS {
            sums.retain(|other, _| other.since >= key.since);
        }
        let (read_at, refreshing) = (Instant::now(), false);
        let (mut unlogged, estimated) =
            sums.get(key).map_or((Money::ZERO, Money::ZERO), |sum| (sum.unlogged, sum.estimated));
        if is_flushed {
            let left = unlogged.picodollars().saturating_sub(before.picodollars());
            unlogged = Money::from_picodollars(left);
        }
        let sum = Sum { logged, read_at, unlogged, estimated, refreshing };
        let spent = sum.spent();
        sums.insert(key.clone(), sum);
        Ok(spent)
    }

    fn sums(&self) -> MutexGuard<'_, BTreeMap<Key, Sum>> {
        self.0.sums.lock()
    }

    /// Whether this process has not logged this notice in its period yet. Marks it as logged.
    fn is_first_here(&self, kind: EventType, notice: &BudgetNotice, key: Key) -> bool {
        let mut logged = self.0.logged.lock();
        if logged.len() >= MAX_SUMS {
            logged.retain(|(_, _, other)| other.since >= key.since);
        }
        logged.insert((kind, notice.budget.clone(), key))
    }

    /// Whether no node has logged this warning in its period yet. Marks it as logged.
    async fn is_first_warning(&self, notice: &BudgetNotice, key: Key) -> Result<bool, StoreError> {
        let event_type = Some(EventType::BudgetWarning);
        let filter = EventFilter { event_type, since: Some(key.since), ..EventFilter::default() };
        if !self.is_first_here(EventType::BudgetWarning, notice, key) {
            return Ok(false);
        }
        let account = json!(notice.account);
        let logged = self.0.store.events(&filter, &EventPage::newest(MAX_WARNINGS)).await?;
        let mut logged = logged.iter().filter_map(|stored| stored.event.metadata.as_ref());
        let is_same =
            |metadata: &Value| metadata["budget"] == notice.budget.as_str() && metadata["account"] == account;
        Ok(!logged.any(is_same))
    }

    fn event(&self, event_type: EventType, notice: &BudgetNotice) -> Event {
        let metadata = json!({
            "budget": notice.budget,
            "account": notice.account,
            "spentUsd": notice.spent,
            "amountUsd": notice.amount,
            "resetsAt": Timestamp::from(notice.resets_at.timestamp()),
        });
        let event = Event::new(event_type, self.0.clock.timestamp());
        Event { error: Some(notice.to_owner()), metadata: Some(metadata), ..event }
    }
}

/// A filter for the calls of an account.
pub(crate) fn of_account(account: &Account) -> CostFilter {
    CostFilter {
        user: account.user.clone().flatten(),
        nobody_known: account.user == Some(None),
        session: account.session.clone(),
        agent: account.agent.clone(),
        ..CostFilter::default()
    }
}

/// The minimum cost of a request: its frozen prompt at the cache read price.
pub(crate) fn at_least(facts: Option<&ModelFacts>, request: &ModelRequest) -> Price {
    let tokens: usize = request.system.iter().map(|block| block.tokens).sum();
    let prices = facts.and_then(|facts| facts.prices_at(tokens));
    Price::from(
        prices.map(|prices| {
            prices.cache_read.map_or(prices.input, |read| read.min(prices.input)).times(tokens)
        }),
    )
}
