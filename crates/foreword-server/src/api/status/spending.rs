//! Today's costs and the use of the budgets, in the status.

use std::collections::BTreeMap;

use foreword_agent::reports::status::BudgetUsage;
use foreword_core::cost_sum::CostSum;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::utc_time::UtcTime;

/// Today's costs.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CostToday {
    /// Number of calls.
    calls: u64,
    /// Number of failed calls.
    failed: u64,
    /// Number of turns.
    turns: u64,
    /// Input tokens, cached ones included.
    tokens_in: u64,
    /// Output tokens.
    tokens_out: u64,
    /// Tokens read from the provider's cache.
    cache_read: u64,
    /// Input tokens written to the provider's cache.
    cache_write: u64,
    /// Input tokens of calls with reported cache usage.
    tokens_with_cache_usage: u64,
    /// US dollars, as far as prices are known.
    usd: f64,
    /// Calls without a known price.
    unpriced: u64,
}

/// The use of a budget.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BudgetStatus)]
pub(crate) struct BudgetBody {
    /// A description of the budget.
    budget: String,
    /// The account: `user`, `session` and `agent`, as far as the budget distinguishes them.
    account: BTreeMap<&'static str, Option<String>>,
    /// Spent so far, in US dollars.
    spent_usd: f64,
    /// The amount, in US dollars.
    amount_usd: f64,
    /// `fine`, `warn` or `stop`.
    #[schema(example = "fine")]
    state: &'static str,
    /// When the next period starts.
    resets_at: UtcTime,
    /// Calls without a known price, which are not included.
    unpriced_calls: u64,
}

impl From<CostSum> for CostToday {
    fn from(sum: CostSum) -> Self {
        Self {
            calls: sum.calls,
            failed: sum.failed,
            turns: sum.turns,
            tokens_in: sum.tokens_in,
            tokens_out: sum.tokens_out,
            cache_read: sum.cache_read,
            cache_write: sum.cache_write,
            tokens_with_cache_usage: sum.tokens_with_cache_usage,
            usd: sum.usd,
            unpriced: sum.unpriced,
        }
    }
}

impl From<BudgetUsage> for BudgetBody {
    fn from(operational: BudgetUsage) -> Self {
        let account = operational.account;
        let parts = [
            account.user.map(|user| ("user", user)),
            account.session.map(|session| ("session", Some(session))),
            account.agent.map(|agent| ("agent", Some(agent))),
        ];
        Self {
            budget: operational.budget,
            account: parts.into_iter().flatten().collect(),
            spent_usd: operational.spent_usd.dollars(),
            amount_usd: operational.amount_usd.dollars(),
            state: operational.state,
            resets_at: operational.resets_at.into(),
            unpriced_calls: operational.unpriced_calls,
        }
    }
}
