//! Observations: the agent's memories, each in one memory store. They outlive their conversation. The caller decides
//! who may read or write which store.

use std::collections::BTreeMap;

use foreword_core::id::{ConversationId, ObservationId, TurnId};
use foreword_core::memory_store::MemoryStore;
use foreword_core::message::Provenance;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;

use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// An observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    pub id: ObservationId,
    pub store: MemoryStore,
    /// A one-line title.
    pub title: String,
    pub text: String,
    /// The trust of the turn that wrote it.
    pub trust: Trust,
    /// The source of the text.
    pub provenance: Provenance,
    /// Whether the turn had read text from outside.
    pub tainted: bool,
    /// The conversation it was made in; `None` if that was deleted.
    pub conversation: Option<ConversationId>,
    /// The turn it was made in; `None` if that was deleted.
    pub turn: Option<TurnId>,
    /// The user or sender, by name.
    pub author: Option<String>,
    /// When it was made.
    pub at: Timestamp,
}

impl Store {
    /// Stores an observation. Returns whether it is new; the same id again changes nothing. References to a deleted
    /// conversation or turn are dropped.
    pub async fn add_observation(&self, new: Observation) -> Result<bool, StoreError> {
        self.run(Add(new)).await
    }

    /// At most `limit` observations in the given stores, the newest first, older than `before` if given.
    pub async fn observations(
        &self,
        stores: &[MemoryStore],
        before: Option<&Observation>,
        limit: u32,
    ) -> Result<Vec<Observation>, StoreError> {
        let stores = MemoryStore::ALL.into_iter().filter(|store| stores.contains(store)).collect();
        let before = before.map(|observation| (observation.at, observation.id.clone()));
        self.run(List { stores, before, limit }).await
    }

    /// One observation, if it is in one of the given stores.
    ///
    /// # Errors
    /// If there is none in these stores, or the database can't be read.
    pub async fn observation(
        &self,
        id: &ObservationId,
        stores: &[MemoryStore],
    ) -> Result<Observation, StoreError> {
        self.run(Get { id: id.clone(), stores: stores.to_vec() }).await
    }

    /// The number of observations in each of the given stores.
    pub async fn count_observations(
        &self,
        stores: &[MemoryStore],
    ) -> Result<BTreeMap<MemoryStore, u64>, StoreError> {
        self.run(Count(stores.to_vec())).await
    }
}

struct Add(Observation);

impl Operation for Add {
    type Output = bool;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<bool, StoreError> {
        let new = &self.0;
        let insert = "INSERT INTO observations (id, store, title, text, trust, provenance, tainted,
                conversation_id, turn_id, author, created_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT id FROM conversations WHERE id = ?8),
                (SELECT id FROM turns WHERE id = ?9), ?10, ?11)
            ON CONFLICT (id) DO NOTHING";
        let values = values![
            &new.id,
            new.store.as_str(),
            &new.title,
            &new.text,
            new.trust,
            new.provenance.as_str(),
            new.tainted,
            new.conversation.as_ref(),
            new.turn.as_ref(),
            new.author.as_deref(),
            new.at,
        ];
        Ok(sql.execute(insert, values).await? > 0)
    }
}

struct List {
    stores: Vec<MemoryStore>,
    before: Option<(Timestamp, ObservationId)>,
    limit: u32,
}

impl Operation for List {
    type Output = Vec<Observation>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Observation>, StoreError> {
        let select =
            "SELECT id, store, title, text, trust, provenance, tainted, conversation_id, turn_id, author,
                created_at
            FROM observations
            WHERE store = ?1 AND (CAST(?2 AS TEXT) IS NULL OR (created_at, id) < (?2, ?3))
            ORDER BY created_at DESC, id DESC LIMIT ?4";
        let (at, id) = self.before.as_ref().map(|(at, id)| (*at, id)).unzip();
        let mut found = Vec::new();
        // One query per store, so that each uses an index for its order.
        for store in &self.stores {
            for row in sql.query(select, values![store.as_str(), at, id, self.limit]).await? {
                found.push(observation(&row)?);
            }
        }
        found.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
        found.truncate(usize::try_from(self.limit).unwrap_or(usize::MAX));
        Ok(found)
    }
}

struct Get {
    id: ObservationId,
    stores: Vec<MemoryStore>,
}

impl Operation for Get {
    type Output = Observation;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Observation, StoreError> {
        let select =
            "SELECT id, store, title, text, trust, provenance, tainted, conversation_id, turn_id, author,
                created_at
            FROM observations WHERE id = ?1";
        let found =
            sql.query_optional(select, values![&self.id]).await?.as_ref().map(observation).transpose()?;
        // An observation that may not be seen looks like one that does not exist.
        let missing = || StoreError::NotFound { what: "observation", id: self.id.to_string() };
        found.filter(|found| self.stores.contains(&found.store)).ok_or_else(missing)
    }
}

struct Count(Vec<MemoryStore>);

impl Operation for Count {
    type Output = BTreeMap<MemoryStore, u64>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<BTreeMap<MemoryStore, u64>, StoreError> {
        let select = "SELECT COUNT(*) FROM observations WHERE store = ?1";
        let mut counts = BTreeMap::new();
        for store in &self.0 {
            let row = sql.query_optional(select, values![store.as_str()]).await?;
            counts.insert(*store, row.map_or(Ok(0), |row| row.get(0))?);
        }
        Ok(counts)
    }
}

fn observation(row: &Row) -> Result<Observation, StoreError> {
    Ok(Observation {
        id: row.parse(0)?,
        store: row.parse(1)?,
        title: row.get(2)?,
        text: row.get(3)?,
        trust: row.parse(4)?,
        provenance: row.parse(5)?,
        tainted: row.get(6)?,
        conversation: row.parse_optional(7)?,
        turn: row.parse_optional(8)?,
        author: row.get(9)?,
        at: row.parse(10)?,
    })
}
