//! What is spent, where `budgets` limit it. A running sum in memory: read from the record when it is first asked for, again
//! at most every half minute because other nodes spend as well, and in between increased by what this process spends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foreword_core::allowance::{Account, Notice, Payer, Verdict};
use foreword_core::event::{Event, EventType};
use foreword_core::id::ConversationId;
use foreword_core::model::ModelRequest;
use foreword_core::models::ModelFacts;
use foreword_core::money::{Money, Price};
use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::events::{CostFilter, EventFilter, EventPage};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::agent::Agent;
use crate::shared::Shared;

/// How long a sum is believed.
const BELIEVED: Duration = Duration::from_secs(30);
/// How long is waited for what was spent to be on record.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many sums are kept.
const MOST_SUMS: usize = 4_096;
/// How many warnings of a period are looked through.
const MOST_WARNINGS: u64 = 1_000;

/// The sums, and the warnings that are known to be on record.
#[derive(Default)]
pub(crate) struct Purse {
    sums: Mutex<BTreeMap<Key, Sum>>,
    warned: Mutex<BTreeSet<Warning>>,
}

/// A warning: of which budget, to whom, and in which period.
type Warning = (String, Key);

/// Which sum: of whom, and since when. Several budgets may share one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    account: Account,
    since: Timestamp,
}

struct Sum {
    on_record: Money,
    read_at: Instant,
    /// What this process has spent and the record may not have had yet when it was read.
    since_then: Money,
    /// What was estimated, which is on no record.
    estimated: Money,
}

impl Sum {
    fn spent(&self) -> Money {
        self.on_record + self.since_then + self.estimated
    }
}

impl Purse {
    /// Counts what `payer` has spent, once it is on its way to the record: what is counted before could be taken for
    /// recorded and then be in neither.
    pub(crate) fn pay(&self, payer: &Payer<'_>, price: Price) {
        self.add(payer, price, |sum, cost| sum.since_then = sum.since_then + cost);
    }

    /// Counts what `payer` has spent by an estimate: nothing of it will be on record.
    fn estimate(&self, payer: &Payer<'_>, price: Price) {
        self.add(payer, price, |sum, cost| sum.estimated = sum.estimated + cost);
    }

    fn add(&self, payer: &Payer<'_>, price: Price, add: impl Fn(&mut Sum, Money)) {
        let Some(cost) = price.known().filter(|cost| *cost > Money::ZERO) else { return };
        for (_, sum) in self.sums().iter_mut().filter(|(key, _)| key.account.is_of(payer)) {
            add(sum, cost);
        }
    }

    /// What is to be said of a call for `payer` that costs `at_least` so much: all warnings, and the first stop.
    pub(crate) async fn judge(
        shared: &Shared,
        payer: &Payer<'_>,
        at_least: Price,
    ) -> Result<Vec<Verdict>, StoreError> {
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let now = shared.surroundings.now();
        let mut verdicts = Vec::new();
        for allowance in &config.budgets {
            let Some(account) = allowance.account(payer) else { continue };
            let since = allowance.budget.per().began(&now).timestamp().into();
            let spent = shared.purse.spent(shared, Key { account: account.clone(), since }).await?;
            match allowance.judge(&account, spent, at_least, &now) {
                Verdict::Fine => {}
                stop @ Verdict::Stop(_) => return Ok(vec![stop]),
                warning => verdicts.push(warning),
            }
        }
        Ok(verdicts)
    }

    async fn spent(&self, shared: &Shared, key: Key) -> Result<Money, StoreError> {
        let known = self.sums().get(&key).map(|sum| (sum.spent(), sum.since_then, sum.read_at.elapsed()));
        let (before, old) = match known {
            Some((spent, _, age)) if age < BELIEVED => return Ok(spent),
            Some((spent, since_then, _)) => (since_then, Some(spent)),
            None => (Money::ZERO, None),
        };
        let flushed = tokio::time::timeout(PATIENCE, shared.events.flush()).await;
        let is_on_record = matches!(flushed, Ok(Ok(())));
        let read = match shared.store.cost(filter(&key)).await {
            Ok(cost) => cost.cost(),
            // What was known half a minute ago is better than no answer.
            Err(error) => return old.ok_or(error),
        };
        let mut sums = self.sums();
        if sums.len() >= MOST_SUMS {
            sums.retain(|other, _| other.since >= key.since);
        }
        let sum = sums.entry(key).or_insert(Sum {
            on_record: read,
            read_at: Instant::now(),
            since_then: Money::ZERO,
            estimated: Money::ZERO,
        });
        (sum.on_record, sum.read_at) = (read, Instant::now());
        if is_on_record {
            let left = sum.since_then.picodollars().saturating_sub(before.picodollars());
            sum.since_then = Money::from_picodollars(left);
        }
        Ok(sum.spent())
    }

    fn sums(&self) -> MutexGuard<'_, BTreeMap<Key, Sum>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this warning is given for the first time in its period, by whichever node. Asked again, it is not.
    pub(crate) async fn is_news(shared: &Shared, notice: &Notice) -> Result<bool, StoreError> {
        let config = Arc::clone(&shared.workspace.snapshot().config);
        let allowance = config.budgets.iter().find(|allowance| allowance.key == notice.key);
        let Some(allowance) = allowance else { return Ok(false) };
        let since = allowance.budget.per().began(&shared.surroundings.now()).timestamp().into();
        let warning = (notice.budget.clone(), Key { account: notice.account.clone(), since });
        {
            let mut warned = shared.purse.warned.lock().unwrap_or_else(PoisonError::into_inner);
            if warned.len() >= MOST_SUMS {
                warned.retain(|(_, key)| key.since >= since);
            }
            if !warned.insert(warning) {
                return Ok(false);
            }
        }
        let event_type = Some(EventType::BudgetWarning);
        let filter = EventFilter { event_type, since: Some(since), ..EventFilter::default() };
        let account = json!(notice.account);
        let told = shared.store.events(&filter, &EventPage::newest(MOST_WARNINGS)).await?;
        let mut told = told.iter().filter_map(|stored| stored.event.metadata.as_ref());
        let is_it =
            |metadata: &Value| metadata["budget"] == notice.budget.as_str() && metadata["account"] == account;
        Ok(!told.any(is_it))
    }
}

fn filter(key: &Key) -> CostFilter {
    CostFilter { since: Some(key.since), ..of_account(&key.account) }
}

impl Agent {
    /// Counts what was spent for `payer` outside of any turn against the budgets, once it is on its way to the record.
    pub fn count_spending(&self, payer: &Payer<'_>, price: Price) {
        self.shared().purse.pay(payer, price);
    }

    /// Counts what was spent for `payer` by an estimate, where the provider has told no numbers: it is in no sum of the log,
    /// and known only here.
    pub fn count_estimate(&self, payer: &Payer<'_>, price: Price) {
        self.shared().purse.estimate(payer, price);
    }

    /// What the budgets say of a call for `payer` outside of any turn: all warnings, and the first stop. A warning goes on
    /// record once in its period.
    ///
    /// # Errors
    /// If it can't be read what was spent.
    pub async fn judge_spending(&self, payer: &Payer<'_>) -> Result<Vec<Verdict>, StoreError> {
        let shared = self.shared();
        let verdicts = Purse::judge(shared, payer, Price::Known(Money::ZERO)).await?;
        for verdict in &verdicts {
            if let Verdict::Warn(notice) = verdict
                && Purse::is_news(shared, notice).await?
            {
                let warning = event(EventType::BudgetWarning, notice, shared.now());
                shared.log(Event { user_id: payer.user.map(Into::into), ..warning });
            }
        }
        Ok(verdicts)
    }

    /// Puts on record that a call outside of any turn was refused for want of money.
    pub fn note_over_budget(
        &self,
        notice: &Notice,
        user: Option<Arc<str>>,
        conversation: Option<ConversationId>,
    ) {
        let exceeded = event(EventType::BudgetExceeded, notice, self.shared().now());
        self.shared().log(Event { user_id: user, session_id: conversation, ..exceeded });
    }
}

/// The calls that go to an account.
pub(crate) fn of_account(account: &Account) -> CostFilter {
    CostFilter {
        user: account.user.clone().flatten(),
        nobody_known: account.user == Some(None),
        session: account.session.clone(),
        agent: account.agent.clone(),
        ..CostFilter::default()
    }
}

/// What a request costs at the least: its frozen prompt, at the lowest price there is for reading it.
pub(crate) fn at_least(facts: Option<&ModelFacts>, request: &ModelRequest) -> Price {
    let tokens: usize = request.system.iter().map(|block| block.tokens).sum();
    let prices = facts.and_then(|facts| facts.prices_at(tokens));
    Price::from(
        prices.map(|prices| {
            prices.cache_read.map_or(prices.input, |read| read.min(prices.input)).times(tokens)
        }),
    )
}

/// The event that tells of a notice.
pub(crate) fn event(event_type: EventType, notice: &Notice, at: Timestamp) -> Event {
    let metadata = json!({
        "budget": notice.budget,
        "account": notice.account,
        "spentUsd": notice.spent,
        "amountUsd": notice.amount,
        "beginsAnew": Timestamp::from(notice.begins_anew.timestamp()),
    });
    Event { error: Some(notice.to_owner()), metadata: Some(metadata), ..Event::new(event_type, at) }
}
