//! Lists turns of all conversations, the newest first, with sums over their events. Uses an index and keyset
//! pagination; one further statement computes the sums of the whole page.

use std::collections::BTreeMap;

use foreword_core::failure::Failure;
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::money::Money;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::trust::Trust;

use crate::engine::{Access, Operation, Row, Transaction, Value, values};
use crate::error::StoreError;

/// Which turns; `None` matches all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnFilter {
    /// In this conversation.
    pub session: Option<ConversationId>,
    /// In conversations of this user.
    pub user: Option<String>,
    /// In this state.
    pub state: Option<TurnState>,
    /// At a trust that this one permits.
    pub permitted_by: Option<Trust>,
    /// Started at or after this time.
    pub since: Option<Timestamp>,
    /// Started before this time.
    pub until: Option<Timestamp>,
}

/// The sort key of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnKey {
    /// When it was begun.
    pub started_at: Timestamp,
    /// Its id, which orders turns of the same time.
    pub id: TurnId,
}

/// A turn with its conversation and its sums.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTurn {
    pub id: TurnId,
    pub conversation: ConversationId,
    /// The conversation's title.
    pub title: Option<String>,
    /// The conversation's user.
    pub user: Option<String>,
    /// The conversation's current agent.
    pub agent: String,
    pub state: TurnState,
    /// Its effective trust.
    pub trust: Trust,
    /// Why it failed or was interrupted.
    pub failure: Option<Failure>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The sums over its events.
    pub sums: TurnSums,
}

impl ListedTurn {
    /// Its sort key.
    #[must_use]
    pub fn key(&self) -> TurnKey {
        TurnKey { started_at: self.started_at, id: self.id.clone() }
    }
}

/// The sums over a turn's events; zero once the events are pruned.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnSums {
    /// Successful model calls.
    pub calls: u64,
    /// Failed model calls.
    pub failed_calls: u64,
    pub tool_calls: u64,
    /// Input tokens, cached or not.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// The cost; `None` if a price is unknown or no call succeeded.
    pub cost: Option<Money>,
    /// The model with the most calls.
    pub model: Option<String>,
}

/// The indexed condition of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    Session,
    State,
    User,
    Time,
}

impl TurnFilter {
    /// The most selective index. A filter by user always comes first, so that a user's query never scans other users'
    /// turns. Most turns are `done`, so that state selects little.
    fn lead(&self) -> Lead {
        let rare = self.state.is_some_and(|state| state.as_str() != "done");
        match (&self.session, &self.user) {
            (Some(_), _) => Lead::Session,
            (_, Some(_)) => Lead::User,
            _ if rare => Lead::State,
            _ => Lead::Time,
        }
    }
}

/// Sets the owner of turns that an older node has written during an upgrade.
pub(super) struct BackfillOwners;

const BACKFILL_OWNERS: &str =
    "UPDATE turns SET user_id = (SELECT c.user_id FROM conversations AS c WHERE c.id = turns.conversation_id)
     WHERE user_id IS NULL AND EXISTS (SELECT 1 FROM conversations AS c
         WHERE c.id = turns.conversation_id AND c.user_id IS NOT NULL)";

impl Operation for BackfillOwners {
    type Output = u64;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
        sql.execute(BACKFILL_OWNERS, &[]).await
    }
}

/// A page of turns: at most `limit` that pass the filter, after `after`.
pub(super) struct List {
    pub(super) filter: TurnFilter,
    pub(super) after: Option<TurnKey>,
    pub(super) limit: u32,
}

impl List {
    fn values(&self) -> Vec<Value> {
        let filter = &self.filter;
        let mut values = vec![
            filter.session.as_ref().into(),
            filter.user.as_deref().into(),
            filter.state.map(TurnState::as_str).into(),
        ];
        let permitting = filter.permitted_by.unwrap_or(Trust::Full);
        // The statement has four placeholders; a permitted trust fills in for one that is not.
        values.extend(
            Trust::ALL
                .map(|trust| Value::from(if permitting.permits(trust) { trust } else { Trust::Public })),
        );
        let until = || filter.until.unwrap_or_else(|| Timestamp::from_micros(i64::MAX)).to_string();
        match &self.after {
            Some(key) => values.extend_from_slice(values![key.started_at, &key.id]),
            // No id sorts before an empty string, so the limit is exclusive.
            None => values.extend_from_slice(values![until(), ""]),
        }
        // An empty string sorts before all times.
        let since = filter.since.map(|at| at.to_string()).unwrap_or_default();
        values.extend_from_slice(values![since, until(), self.limit]);
        values
    }
}

/// Selects the rows of the page, in order.
macro_rules! page {
    ($lead:literal) => {
        concat!(
            " FROM turns AS t JOIN conversations AS c ON c.id = t.conversation_id WHERE ",
            $lead,
            "(t.started_at, t.id) < (?8, ?9) AND t.started_at >= ?10 AND t.started_at < ?11
             AND (CAST(?1 AS TEXT) IS NULL OR t.conversation_id = ?1)
             AND (CAST(?2 AS TEXT) IS NULL OR t.user_id = ?2)
             AND (CAST(?3 AS TEXT) IS NULL OR t.state = ?3)
             AND t.trust IN (?4, ?5, ?6, ?7)
             ORDER BY t.started_at DESC, t.id DESC LIMIT ?12"
        )
    };
}

macro_rules! statements {
    ($lead:literal) => {
        [
            concat!(
                "SELECT t.id, t.conversation_id, c.title, c.user_id, c.agent, t.state, t.trust, t.error,
                     t.started_at, t.ended_at",
                page!($lead)
            ),
            // The type is compared without its index, because a type has far more events than a page. Cast because
            // Postgres sums integers as `numeric`.
            concat!(
                "SELECT e.turn_id, e.event_type, e.model, COUNT(*),
                     CAST(COALESCE(SUM(e.tokens_in), 0) AS BIGINT), CAST(COALESCE(SUM(e.tokens_out), 0) AS BIGINT),
                     CAST(COALESCE(SUM(e.cache_read_tokens), 0) AS BIGINT), COALESCE(SUM(e.cost_usd), 0.0),
                     COUNT(CASE WHEN e.cost_usd IS NULL
                         AND (e.event_type = 'api_call' OR e.tokens_in IS NOT NULL) THEN 1 END)
                 FROM events AS e WHERE e.turn_id IS NOT NULL AND e.turn_id IN (SELECT t.id",
                page!($lead),
                ") AND COALESCE(e.event_type, '') IN ('api_call', 'api_error', 'tool_call')
                 GROUP BY e.turn_id, e.event_type, e.model"
            ),
        ]
    };
}

/// The statements for the turns of a page and for their sums.
fn statements(lead: Lead) -> [&'static str; 2] {
    match lead {
        Lead::Session => statements!("t.conversation_id = ?1 AND "),
        Lead::State => statements!("t.state = ?3 AND "),
        Lead::User => statements!("t.user_id = ?2 AND "),
        Lead::Time => statements!(""),
    }
}

impl Operation for List {
    type Output = Vec<ListedTurn>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<ListedTurn>, StoreError> {
        let [turns, sums] = statements(self.filter.lead());
        let values = self.values();
        let turns = sql.query(turns, &values).await?;
        if turns.is_empty() {
            return Ok(Vec::new());
        }
        let mut gathered: BTreeMap<TurnId, Gathered> = BTreeMap::new();
        for row in sql.query(sums, &values).await? {
            gathered.entry(row.parse(0)?).or_default().add(&row)?;
        }
        let listed = |row: &Row| {
            let id: TurnId = row.parse(0)?;
            let sums = gathered.remove(&id).map(Gathered::whole).unwrap_or_default();
            listed(id, row, sums)
        };
        turns.iter().map(listed).collect()
    }
}

fn listed(id: TurnId, row: &Row, sums: TurnSums) -> Result<ListedTurn, StoreError> {
    Ok(ListedTurn {
        id,
        conversation: row.parse(1)?,
        title: row.get(2)?,
        user: row.get(3)?,
        agent: row.get(4)?,
        state: row.parse(5)?,
        trust: row.parse(6)?,
        failure: row.get::<Option<String>>(7)?.map(|text| Failure::from_record(&text)),
        started_at: row.parse(8)?,
        ended_at: row.parse_optional(9)?,
        sums,
    })
}

/// Accumulates the sums of a turn from one row per event type and model.
#[derive(Default)]
struct Gathered {
    sums: TurnSums,
    usd: f64,
    unpriced: u64,
    /// The number of calls per model.
    models: BTreeMap<String, u64>,
}

impl Gathered {
    fn add(&mut self, row: &Row) -> Result<(), StoreError> {
        let count: u64 = row.get(3)?;
        match row.text(1)? {
            "api_call" => self.sums.calls += count,
            "api_error" => self.sums.failed_calls += count,
            _ => {
                self.sums.tool_calls += count;
                return Ok(());
            }
        }
        if let Some(model) = row.get(2)? {
            *self.models.entry(model).or_default() += count;
        }
        self.sums.tokens_in += row.get::<u64>(4)?;
        self.sums.tokens_out += row.get::<u64>(5)?;
        self.sums.cache_read += row.get::<u64>(6)?;
        self.usd += row.get::<f64>(7)?;
        self.unpriced += row.get::<u64>(8)?;
        Ok(())
    }

    fn whole(self) -> TurnSums {
        let known = self.sums.calls > 0 && self.unpriced == 0;
        let cost = known.then(|| Money::from_dollars(self.usd));
        let model = self.models.into_iter().max_by_key(|(_, count)| *count).map(|(model, _)| model);
        TurnSums { cost, model, ..self.sums }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::engine::migrations::MIGRATIONS;

    #[test]
    fn user_filter_uses_the_owner_index() {
        let lead = |user: Option<&str>, state: Option<TurnState>| {
            TurnFilter { user: user.map(str::to_owned), state, ..TurnFilter::default() }.lead()
        };
        assert_eq!(lead(Some("bob"), Some(TurnState::Running)), Lead::User);
        assert_eq!(lead(None, Some(TurnState::Running)), Lead::State);
        assert_eq!((lead(Some("bob"), None), lead(None, None)), (Lead::User, Lead::Time));
    }

    #[test]
    fn turn_pages_and_sums_use_indexes() {
        let connection = Connection::open_in_memory().unwrap();
        for part in MIGRATIONS.iter().flat_map(|migration| migration.sqlite) {
            connection.execute_batch(part).unwrap();
        }
        let plan = |sql: &str| {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = statement.raw_query().mapped(|row| row.get::<_, String>(3));
            steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
        };
        for (lead, index) in [
            (Lead::Session, "SEARCH t USING INDEX idx_turns_session (conversation_id=? AND "),
            (Lead::State, "SEARCH t USING INDEX idx_turns_state (state=? AND "),
            (Lead::User, "SEARCH t USING INDEX idx_turns_user (user_id=? AND "),
            (Lead::Time, "SEARCH t USING INDEX idx_turns_started ("),
        ] {
            let [turns, sums] = statements(lead).map(plan);
            assert!(turns.contains(index) && !turns.contains("B-TREE"), "{lead:?}: {turns}");
            assert!(
                sums.contains(index) && sums.contains("USING INDEX idx_events_turn (turn_id=?"),
                "{sums}"
            );
            assert!(!sums.contains("SCAN"), "{lead:?}: {sums}");
        }
    }
}
