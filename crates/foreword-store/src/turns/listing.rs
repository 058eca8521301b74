//! Turns as a list, the newest first, with what each came to. A page is led by an index and goes on from the last turn seen;
//! what the turns of a page came to is one more statement, whatever their number.

use std::collections::BTreeMap;

use foreword_core::failure::Failure;
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::money::Money;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::trust::Trust;

use crate::engine::{Access, Operation, Row, Sql, Value, values};
use crate::error::StoreError;

/// Which turns; what is not said is not asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnFilter {
    /// Of this conversation.
    pub session: Option<ConversationId>,
    /// In conversations that belong to this user.
    pub user: Option<String>,
    /// That stand like this.
    pub state: Option<TurnState>,
    /// At one of the trusts that this one permits; at any, if nothing is said.
    pub permitted_by: Option<Trust>,
    /// Begun not before.
    pub since: Option<Timestamp>,
    /// Begun before.
    pub until: Option<Timestamp>,
}

/// The place of a turn in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnKey {
    /// When it was begun.
    pub started_at: Timestamp,
    /// Its id, which tells those of one moment apart.
    pub id: TurnId,
}

/// A turn, where it took place, and what it came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTurn {
    /// Its id.
    pub id: TurnId,
    /// The conversation.
    pub conversation: ConversationId,
    /// What people call it.
    pub title: Option<String>,
    /// Whose conversation it is.
    pub user: Option<String>,
    /// The agent that talks there now.
    pub agent: String,
    /// Where it stands.
    pub state: TurnState,
    /// Its effective trust.
    pub trust: Trust,
    /// Why it failed or was interrupted.
    pub failure: Option<Failure>,
    /// When it was begun.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// What is on record of it.
    pub sums: TurnSums,
}

impl ListedTurn {
    /// Its place in time.
    #[must_use]
    pub fn key(&self) -> TurnKey {
        TurnKey { started_at: self.started_at, id: self.id.clone() }
    }
}

/// What the events of a turn come to; nothing once they are gone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnSums {
    /// Answered calls to models.
    pub calls: u64,
    /// Failed ones.
    pub failed_calls: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Tokens read, from wherever.
    pub tokens_in: u64,
    /// Tokens written.
    pub tokens_out: u64,
    /// Of those read, how many were in the provider's cache.
    pub cache_read: u64,
    /// What it cost; not known if a price is not, or no call was answered.
    pub cost: Option<Money>,
    /// The model that was called most.
    pub model: Option<String>,
}

/// What a turn must be to be looked at at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    Session,
    State,
    User,
    Time,
}

impl TurnFilter {
    /// What leaves the fewest turns, and nobody a look at everybody's who may have only their own. Most are done, so that says
    /// little.
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

/// Says of turns whose they are where an older node, that shares the store while it is upgraded, has not.
pub(super) struct NameOwners;

const NAME_OWNERS: &str =
    "UPDATE turns SET user_id = (SELECT c.user_id FROM conversations AS c WHERE c.id = turns.conversation_id)
     WHERE user_id IS NULL AND EXISTS (SELECT 1 FROM conversations AS c
         WHERE c.id = turns.conversation_id AND c.user_id IS NOT NULL)";

impl Operation for NameOwners {
    type Output = u64;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<u64, StoreError> {
        sql.execute(NAME_OWNERS, &[]).await
    }
}

/// A page of turns: of those that pass, at most `limit` behind `after`.
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
        // There are four places; what is not permitted leaves its place to one that is.
        values.extend(
            Trust::ALL
                .map(|trust| Value::from(if permitting.permits(trust) { trust } else { Trust::Public })),
        );
        let until = || filter.until.unwrap_or_else(|| Timestamp::from_micros(i64::MAX)).to_string();
        match &self.after {
            Some(key) => values.extend_from_slice(values![key.started_at, &key.id]),
            // Nothing stands before an empty text: the first moment that is too late.
            None => values.extend_from_slice(values![until(), ""]),
        }
        // An empty text is before all times.
        let since = filter.since.map(|at| at.to_string()).unwrap_or_default();
        values.extend_from_slice(values![since, until(), self.limit]);
        values
    }
}

/// Which rows of `turns` make the page, in order.
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
            // Types are asked in a way that no index leads: there are far more events of a type than of a page.
            // Cast because one engine gives a sum of whole numbers another type than the numbers have.
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

/// The statements for the turns of a page, and for what they came to.
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<ListedTurn>, StoreError> {
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

/// The sums of a turn while they are put together out of a row for each kind of event and model.
#[derive(Default)]
struct Gathered {
    sums: TurnSums,
    usd: f64,
    unpriced: u64,
    /// How often each model was called.
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
    use crate::migrations::MIGRATIONS;

    #[test]
    fn somebodys_turns_are_led_by_whose_they_are_however_they_ended() {
        let lead = |user: Option<&str>, state: Option<TurnState>| {
            TurnFilter { user: user.map(str::to_owned), state, ..TurnFilter::default() }.lead()
        };
        assert_eq!(lead(Some("bob"), Some(TurnState::Running)), Lead::User);
        assert_eq!(lead(None, Some(TurnState::Running)), Lead::State);
        assert_eq!((lead(Some("bob"), None), lead(None, None)), (Lead::User, Lead::Time));
    }

    #[test]
    fn every_page_and_its_sums_are_led_by_an_index_and_no_turn_is_sorted() {
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
