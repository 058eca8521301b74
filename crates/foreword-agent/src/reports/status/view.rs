//! The owner's part of the status: spending, next firings and dependencies.

use std::fmt;
use std::sync::Arc;

use foreword_core::budget_rule::{Account, BudgetRule, BudgetVerdict, Spender, SpentBy};
use foreword_core::cost_sum::CostSum;
use foreword_core::event::{EventType, StoredEvent};
use foreword_core::memory_store::MemoryStore;
use foreword_core::money::{Money, Price};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::single_line;
use foreword_store::error::StoreError;
use foreword_store::events::{CostBy, CostFilter, EventFilter, EventPage};
use foreword_workspace::config::Config;
use foreword_workspace::config::mcp::{McpServer, McpTransport};
use jiff::Zoned;
use serde::Serialize;

use super::{MAX_RECORDS, NAME_CHARS, RECENT_WINDOW};
use crate::reports::viewer::Viewer;
use crate::spending::of_account;
use crate::tools::event_line::moment;

/// The maximum number of accounts listed per budget.
const ACCOUNTS: usize = 5;

/// Spending, next firings and dependencies.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct OperationalStatus {
    /// Today's spending, in the machine's time zone.
    pub cost_today: CostSum,
    /// The budgets and their spending.
    pub budgets: Vec<BudgetUsage>,
    /// The number of events of the last 24 hours that could not be stored.
    pub events_lost: u64,
    /// The MCP servers.
    pub tool_servers: Vec<ToolServer>,
    /// The next firings in order.
    pub next_firings: Vec<NextFiring>,
    /// The time of the last note stored in memory.
    pub memory_kept_at: Option<Timestamp>,
}

/// The status of a budget.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BudgetUsage {
    /// The budget's description.
    pub budget: String,
    pub account: Account,
    /// The amount spent.
    pub spent_usd: Money,
    /// The limit.
    pub amount_usd: Money,
    /// `fine`, `warn` or `stop`.
    pub state: &'static str,
    /// The start of the next period.
    pub resets_at: Timestamp,
    /// Calls in this period that are not counted, because their price is unknown.
    pub unpriced_calls: u64,
}

/// A configured MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolServer {
    pub name: String,
    /// `program` or `address`.
    pub transport: &'static str,
    /// Its last reported state, if there is one.
    pub last_status: Option<String>,
}

/// The next firing of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NextFiring {
    /// Its name.
    pub schedule: String,
    pub at: Timestamp,
}

impl OperationalStatus {
    pub(super) async fn visible_to(viewer: &Viewer, config: &Config) -> Result<Self, StoreError> {
        let store = &viewer.store;
        let now = jiff::Timestamp::from(viewer.now).to_zoned(viewer.zone.clone());
        let midnight = foreword_core::budget::Period::Day.began(&now).timestamp().into();
        let today = CostFilter { since: Some(midnight), ..CostFilter::default() };
        let mut next: Vec<NextFiring> = store
            .schedules()
            .await?
            .into_iter()
            .filter(|schedule| config.schedules.contains_key(schedule.name.as_str()))
            .filter_map(|schedule| Some(NextFiring { schedule: schedule.name, at: schedule.next_fire_at? }))
            .collect();
        next.sort_by_key(|firing| firing.at);
        let newest = store.observations(&MemoryStore::ALL, None, 1).await?;
        Ok(Self {
            cost_today: store.cost(today).await?,
            budgets: budgets(viewer, config, &now).await?,
            events_lost: events_lost(viewer).await?,
            tool_servers: tool_servers(viewer, config).await?,
            next_firings: next,
            memory_kept_at: newest.first().map(|observation| observation.at),
        })
    }

    /// The configured part, when nothing was ever stored.
    pub(super) fn empty() -> Self {
        Self::default()
    }
}

async fn budgets(viewer: &Viewer, config: &Config, now: &Zoned) -> Result<Vec<BudgetUsage>, StoreError> {
    let mut out = Vec::new();
    for budget_rule in &config.budgets {
        let since = Some(budget_rule.budget.per().began(now).timestamp().into());
        let mut accounts: Vec<(Account, CostSum)> = Vec::new();
        for account in accounts_of(viewer, budget_rule, since).await? {
            let sum = viewer.store.cost(CostFilter { since, ..of_account(&account) }).await?;
            accounts.push((account, sum));
        }
        accounts.sort_by(|(_, one), (_, other)| other.usd.total_cmp(&one.usd));
        accounts.truncate(ACCOUNTS);
        out.extend(accounts.into_iter().map(|(account, sum)| {
            let state = match budget_rule.check(&account, sum.cost(), Price::Unknown, now) {
                BudgetVerdict::Fine => "fine",
                BudgetVerdict::Warn(_) => "warn",
                BudgetVerdict::Stop(_) => "stop",
            };
            BudgetUsage {
                budget: budget_rule.to_string(),
                account,
                spent_usd: sum.cost(),
                amount_usd: budget_rule.budget.amount(),
                state,
                resets_at: budget_rule.budget.per().next(now).timestamp().into(),
                unpriced_calls: sum.unpriced,
            }
        }));
    }
    Ok(out)
}

/// The accounts of a budget rule with spending; its only account, if it has just one.
async fn accounts_of(
    viewer: &Viewer,
    budget_rule: &BudgetRule,
    since: Option<Timestamp>,
) -> Result<Vec<Account>, StoreError> {
    let user = budget_rule.user.as_deref();
    let by = match budget_rule.of {
        SpentBy::All => None,
        SpentBy::User if user.is_some() => None,
        SpentBy::User => Some(CostBy::User),
        SpentBy::Session => Some(CostBy::Session),
        SpentBy::Agent => Some(CostBy::Agent),
    };
    let Some(by) = by else {
        let payer = Spender { user, session: "", agent: "" };
        return Ok(budget_rule.account(&payer).into_iter().collect());
    };
    let filter = CostFilter { since, user: user.map(str::to_owned), ..CostFilter::default() };
    let spenders = viewer.store.cost_by(by, filter).await?;
    let payer = |name: Option<&str>| {
        let named = name.unwrap_or_default();
        let user = if by == CostBy::User { name } else { user };
        budget_rule.account(&Spender { user, session: named, agent: named })
    };
    Ok(spenders.iter().filter_map(|(name, _)| payer(name.as_deref())).collect())
}

async fn events_lost(viewer: &Viewer) -> Result<u64, StoreError> {
    let lost = EventFilter {
        event_type: Some(EventType::EventsLost),
        since: Some(viewer.now.minus(RECENT_WINDOW)),
        ..EventFilter::default()
    };
    let events = viewer.store.events(&lost, &EventPage::newest(u64::from(MAX_RECORDS))).await?;
    Ok(events.iter().filter_map(|stored| stored.event.metadata.as_ref()?.get("lost")?.as_u64()).sum())
}

async fn tool_servers(viewer: &Viewer, config: &Config) -> Result<Vec<ToolServer>, StoreError> {
    if config.mcp.is_empty() {
        return Ok(Vec::new());
    }
    let filter = EventFilter { event_type: Some(EventType::ToolServer), ..EventFilter::default() };
    let events = viewer.store.events(&filter, &EventPage::newest(u64::from(MAX_RECORDS))).await?;
    let last = |name: &str| {
        let is_of = |stored: &&StoredEvent| {
            stored.event.metadata.as_ref().is_some_and(|metadata| metadata["server"] == name)
        };
        let last = &events.iter().find(is_of)?.event;
        // Only the state: the reason is the server's own text.
        let state = last.metadata.as_ref()?.get("state")?.as_str()?;
        Some(format!("{} since {}", single_line(state, NAME_CHARS), moment(last.timestamp)))
    };
    let server = |(name, server): (&Arc<str>, &McpServer)| ToolServer {
        name: name.to_string(),
        transport: match server.transport {
            McpTransport::Stdio(_) => "program",
            McpTransport::Http(_) => "address",
        },
        last_status: last(name),
    };
    Ok(config.mcp.iter().map(server).collect())
}

impl fmt::Display for OperationalStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\nspent today: {}", self.cost_today.cost())?;
        if self.cost_today.unpriced > 0 {
            let calls = with_thousands(usize::try_from(self.cost_today.unpriced).unwrap_or(usize::MAX));
            write!(f, ", and {calls} calls of unknown price")?;
        }
        for budget in &self.budgets {
            write!(f, "\n- {budget}")?;
        }
        if self.events_lost > 0 {
            write!(f, "\nevents lost in the last 24 hours: {}", self.events_lost)?;
        }
        for server in &self.tool_servers {
            let last = server.last_status.as_deref().unwrap_or("not started yet");
            write!(f, "\nserver of tools {}: {last}", single_line(&server.name, NAME_CHARS))?;
        }
        for firing in &self.next_firings {
            write!(
                f,
                "\nschedule {}: next {}",
                single_line(&firing.schedule, NAME_CHARS),
                moment(firing.at)
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for BudgetUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { budget, spent_usd, .. } = self;
        write!(f, "budget of {budget}: {spent_usd} spent")?;
        if self.account != Account::default() {
            write!(f, " by {}", single_line(&self.account.to_string(), NAME_CHARS))?;
        }
        match self.state {
            "stop" => write!(f, ", used up until {}", moment(self.resets_at))?,
            "warn" => f.write_str(", most of it")?,
            _ => {}
        }
        if self.unpriced_calls > 0 {
            write!(f, "; it can't count {} calls of unknown price", self.unpriced_calls)?;
        }
        Ok(())
    }
}
