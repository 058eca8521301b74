//! The last request of each conversation, as hashes, to explain cache misses by comparison with the next request.
//! Stores no text.

use foreword_core::message::Usage;
use foreword_core::timestamp::Timestamp;

use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// How many are deleted per transaction.
const PRUNE_BATCH: u32 = 1_000;

/// The last request of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastRequest {
    /// The conversation's id, or a substitute.
    pub thread: String,
    /// When it was sent.
    pub at: Timestamp,
    /// Its shape, as JSON.
    pub shape: String,
    /// Its epoch, if an agent sent it.
    pub epoch: Option<u64>,
    /// The usage the provider reported.
    pub usage: Option<Usage>,
    /// The provider's id of the response.
    pub answer_id: Option<String>,
}

impl Store {
    /// The key of this store's hashes, in hexadecimal. The first caller sets it.
    ///
    /// # Errors
    /// If the database can't be read or written.
    pub async fn shape_key(&self, fresh: &str, now: Timestamp) -> Result<String, StoreError> {
        self.run(Key { fresh: fresh.to_owned(), now }).await
    }

    /// Stores a conversation's last request, unless a later one is stored.
    ///
    /// # Errors
    /// If the database can't be written.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let now = "2026-11-16T08:00:00Z".parse()?;
    /// # let location = foreword_store::location::Location::file(folder.path().join("foreword.db"));
    /// # let store = foreword_store::store::Store::open(&location, now).await?;
    /// use foreword_store::requests::LastRequest;
    ///
    /// let (thread, shape) = ("c-1".to_owned(), "{}".to_owned());
    /// let last = LastRequest { thread, at: now, shape, epoch: Some(1), usage: None, answer_id: None };
    /// store.save_request(&last).await?;
    /// assert_eq!(store.last_request("c-1").await?, Some(last));
    /// # Ok(()) }
    /// ```
    pub async fn save_request(&self, request: &LastRequest) -> Result<(), StoreError> {
        self.run(Remember(request.clone())).await
    }

    /// The last request of a conversation.
    pub async fn last_request(&self, thread: &str) -> Result<Option<LastRequest>, StoreError> {
        self.run(Last(thread.to_owned())).await
    }

    /// Deletes a batch of requests sent before `before`. Returns how many.
    pub async fn prune_requests(&self, before: Timestamp) -> Result<u64, StoreError> {
        self.run(Forget(before)).await
    }
}

struct Key {
    fresh: String,
    now: Timestamp,
}

impl Operation for Key {
    type Output = String;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<String, StoreError> {
        let insert = "INSERT INTO shape_keys (number, key, made_at) VALUES (1, ?1, ?2) ON CONFLICT (number) DO NOTHING";
        sql.execute(insert, values![&*self.fresh, self.now]).await?;
        let row = sql.query_optional("SELECT key FROM shape_keys WHERE number = 1", &[]).await?;
        row.map_or_else(|| Ok(self.fresh.clone()), |row| row.get(0))
    }
}

struct Remember(LastRequest);

impl Operation for Remember {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        remember(sql, &self.0).await
    }
}

pub(crate) async fn remember(sql: &mut Transaction<'_>, request: &LastRequest) -> Result<(), StoreError> {
    let LastRequest { thread, at, shape, epoch, usage, answer_id } = request;
    // Numbers always serialise.
    let usage = usage.as_ref().and_then(|usage| serde_json::to_string(usage).ok());
    let upsert = "INSERT INTO last_requests (thread, at, shape, epoch, usage, answer_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            ON CONFLICT (thread) DO UPDATE SET at = excluded.at, shape = excluded.shape, epoch = excluded.epoch, usage = excluded.usage,
            answer_id = excluded.answer_id WHERE last_requests.at <= excluded.at";
    let values = values![&**thread, *at, &**shape, *epoch, usage.as_deref(), answer_id.as_deref()];
    sql.execute(upsert, values).await?;
    Ok(())
}

struct Last(String);

impl Operation for Last {
    type Output = Option<LastRequest>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<LastRequest>, StoreError> {
        let select = "SELECT thread, at, shape, epoch, usage, answer_id FROM last_requests WHERE thread = ?1";
        sql.query_optional(select, values![&*self.0]).await?.as_ref().map(last_request).transpose()
    }
}

fn last_request(row: &Row) -> Result<LastRequest, StoreError> {
    let usage: Option<String> = row.get(4)?;
    Ok(LastRequest {
        thread: row.get(0)?,
        at: row.parse(1)?,
        shape: row.get(2)?,
        epoch: row.get(3)?,
        // Unreadable usage counts as unknown.
        usage: usage.and_then(|usage| serde_json::from_str(&usage).ok()),
        answer_id: row.get(5)?,
    })
}

struct Forget(Timestamp);

impl Operation for Forget {
    type Output = u64;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<u64, StoreError> {
        let delete = "DELETE FROM last_requests WHERE thread IN
            (SELECT thread FROM last_requests WHERE at < ?1 ORDER BY at LIMIT ?2)";
        sql.execute(delete, values![self.0, PRUNE_BATCH]).await
    }
}
