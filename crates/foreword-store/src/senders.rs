//! The history of exchanges with senders, within limits. [`foreword_core::sender`] decides what is kept; this module
//! applies it in one transaction. The mailboxes have the full texts.

mod search;

use std::collections::{BTreeMap, BTreeSet};

use foreword_core::sender::{
    HistoryLimits, KnownSender, SenderAddress, SenderExchange, Senders, SkippedSender, first_kept,
    plan_senders, shorten,
};
use foreword_core::timestamp::Timestamp;
use foreword_core::zero_byte::without_zero_bytes;

use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::search_pattern::SearchPattern;
use crate::store::Store;

/// The lock for changing histories and for consuming inbox messages.
pub(crate) const LOCK: &str = "senders";

/// The exchanges of one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnExchanges {
    /// The exchanges, in order.
    pub exchanges: Vec<SenderExchange>,
    /// The participants of the turn, with or without an exchange. Their history is not evicted.
    pub active: BTreeSet<SenderAddress>,
    /// The current time.
    pub at: Timestamp,
    pub limits: HistoryLimits,
}

impl TurnExchanges {
    /// Exchanges with the default limits.
    #[must_use]
    pub fn new(exchanges: Vec<SenderExchange>, at: Timestamp) -> Self {
        Self { exchanges, active: BTreeSet::new(), at, limits: HistoryLimits::default() }
    }
}

/// The outcome of recording exchanges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedExchanges {
    /// New senders with a history.
    pub admitted: Vec<SenderAddress>,
    /// Senders whose exchanges were not recorded, and why.
    pub not_kept: Vec<SkippedSender>,
    /// Senders whose history was evicted.
    pub evicted: Vec<SenderAddress>,
}

/// A sender with a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    pub address: SenderAddress,
    /// The start of the history.
    pub first_seen: Timestamp,
    /// The time of the last exchange; never decreases.
    pub last_activity: Timestamp,
    /// The number of stored exchanges.
    pub exchanges: u64,
}

/// A sender with its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSenderHistory {
    pub sender: Sender,
    /// The exchanges, the oldest first.
    pub exchanges: Vec<SenderExchange>,
}

impl Store {
    /// Records the exchanges of a turn. Idempotent: exchanges whose message is in the history already are skipped.
    ///
    /// # Errors
    /// If the database can't be written; then none is recorded.
    pub async fn record_exchanges(&self, turn: TurnExchanges) -> Result<RecordedExchanges, StoreError> {
        self.run(Record(turn)).await
    }

    /// A sender with its history, if there is one.
    pub async fn sender(&self, address: &SenderAddress) -> Result<Option<StoredSenderHistory>, StoreError> {
        self.run(Get(address.clone())).await
    }

    /// At most `limit` senders, the most recently active first, after `after` if given.
    pub async fn senders(&self, after: Option<&Sender>, limit: u64) -> Result<Vec<Sender>, StoreError> {
        let after = after.map(|sender| (sender.last_activity, sender.address.clone()));
        self.run(List { after, limit }).await
    }

    /// As [`Store::senders`], for those whose address or exchanges contain `words`, ignoring case.
    pub async fn senders_with(
        &self,
        words: &str,
        after: Option<&Sender>,
        limit: u64,
    ) -> Result<Vec<Sender>, StoreError> {
        let after = after.map(|sender| (sender.last_activity, sender.address.clone()));
        self.run(search::Search { pattern: SearchPattern::new(words), after, limit }).await
    }

    /// The last `count` exchanges with each of these senders, the oldest first. Omits senders without any.
    pub async fn recent_exchanges(
        &self,
        senders: &BTreeSet<SenderAddress>,
        count: u64,
    ) -> Result<BTreeMap<SenderAddress, Vec<SenderExchange>>, StoreError> {
        self.run(Recent { senders: senders.clone(), count }).await
    }
}

struct Record(TurnExchanges);

impl Operation for Record {
    type Output = RecordedExchanges;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<RecordedExchanges, StoreError> {
        sql.lock(LOCK).await?;
        record(sql, &self.0).await
    }
}

/// Records the exchanges of a turn. The caller holds [`LOCK`].
pub(crate) async fn record(
    sql: &mut Transaction<'_>,
    turn: &TurnExchanges,
) -> Result<RecordedExchanges, StoreError> {
    let fresh = fresh(sql, &turn.exchanges).await?;
    if fresh.is_empty() {
        return Ok(RecordedExchanges::default());
    }
    let wanted: Vec<SenderAddress> = fresh.iter().map(|exchange| exchange.sender.clone()).collect();
    let known = known_senders(sql).await?;
    let admissions = admissions(sql, turn.at).await?;
    let senders = Senders { known: &known, admissions: &admissions, active: &turn.active, now: turn.at };
    let plan = plan_senders(&turn.limits, senders, &wanted);
    for address in &plan.evicted {
        sql.execute("DELETE FROM senders WHERE address = ?1", values![address.as_str()]).await?;
    }
    for address in &plan.admitted {
        admit(sql, address, turn.at).await?;
    }
    let left_out: BTreeSet<&SenderAddress> = plan.not_kept.iter().map(|not| &not.sender).collect();
    for exchange in fresh.into_iter().filter(|exchange| !left_out.contains(&exchange.sender)) {
        append(sql, exchange, &turn.limits).await?;
    }
    Ok(RecordedExchanges { admitted: plan.admitted, not_kept: plan.not_kept, evicted: plan.evicted })
}

/// The exchanges that are not in the history yet, without duplicates.
async fn fresh<'e>(
    sql: &mut Transaction<'_>,
    exchanges: &'e [SenderExchange],
) -> Result<Vec<&'e SenderExchange>, StoreError> {
    let mut seen = BTreeSet::new();
    let mut fresh = Vec::new();
    for exchange in exchanges {
        let select = "SELECT seq FROM exchanges WHERE inbox_message_id = ?1";
        let stored = sql.query_optional(select, values![&exchange.inbox_message]).await?.is_some();
        if seen.insert(&exchange.inbox_message) && !stored {
            fresh.push(exchange);
        }
    }
    Ok(fresh)
}

async fn known_senders(sql: &mut Transaction<'_>) -> Result<Vec<KnownSender>, StoreError> {
    let rows = sql.query("SELECT address, last_activity FROM senders", &[]).await?;
    let known = |row: &Row| Ok(KnownSender { address: row.parse(0)?, last_activity: row.parse(1)? });
    rows.iter().map(known).collect()
}

/// The times at which new senders were admitted recently. Deletes older ones.
async fn admissions(sql: &mut Transaction<'_>, now: Timestamp) -> Result<Vec<Timestamp>, StoreError> {
    let delete = "DELETE FROM sender_admissions WHERE admitted_at <= ?1";
    sql.execute(delete, values![now.minus(HistoryLimits::WINDOW)]).await?;
    let rows = sql.query("SELECT admitted_at FROM sender_admissions", &[]).await?;
    rows.iter().map(|row| row.parse(0)).collect()
}

async fn admit(sql: &mut Transaction<'_>, address: &SenderAddress, at: Timestamp) -> Result<(), StoreError> {
    let sender = "INSERT INTO senders (address, first_seen, last_activity) VALUES (?1, ?2, ?3)";
    sql.execute(sender, values![address.as_str(), at, at]).await?;
    let admission =
        "INSERT INTO sender_admissions (address, admitted_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    sql.execute(admission, values![address.as_str(), at]).await?;
    Ok(())
}

/// Appends an exchange to its sender's history, and deletes the oldest beyond the limit.
async fn append(
    sql: &mut Transaction<'_>,
    exchange: &SenderExchange,
    limits: &HistoryLimits,
) -> Result<(), StoreError> {
    let address = exchange.sender.as_str();
    // The clock may have been set back; the last activity never decreases.
    let update = "UPDATE senders SET next_seq = next_seq + 1,
             last_activity = CASE WHEN last_activity < ?2 THEN ?2 ELSE last_activity END
         WHERE address = ?1 RETURNING next_seq - 1";
    let row = sql.query_optional(update, values![address, exchange.at]).await?;
    let Some(row) = row else {
        return Err(StoreError::NotFound { what: "sender", id: address.to_owned() });
    };
    let seq: u64 = row.get(0)?;
    let kept = |text: &str| shorten(&without_zero_bytes(text), limits.characters).into_owned();
    sql.execute(
        "INSERT INTO exchanges (sender, seq, inbox_message_id, sender_body, agent_reply, turn_id, timestamp)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        values![
            address,
            seq,
            &exchange.inbox_message,
            kept(&exchange.body),
            exchange.reply.as_deref().map(kept),
            &exchange.turn,
            exchange.at
        ],
    )
    .await?;
    let delete = "DELETE FROM exchanges WHERE sender = ?1 AND seq < ?2";
    sql.execute(delete, values![address, first_kept(seq, limits)]).await?;
    Ok(())
}

struct Get(SenderAddress);

impl Operation for Get {
    type Output = Option<StoredSenderHistory>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<StoredSenderHistory>, StoreError> {
        let select = "SELECT address, first_seen, last_activity,
                 (SELECT COUNT(*) FROM exchanges WHERE exchanges.sender = senders.address)
             FROM senders WHERE address = ?1";
        let Some(row) = sql.query_optional(select, values![self.0.as_str()]).await? else {
            return Ok(None);
        };
        let sender = sender(&row)?;
        let exchanges = last_exchanges(sql, &self.0, sender.exchanges).await?;
        Ok(Some(StoredSenderHistory { sender, exchanges }))
    }
}

struct List {
    after: Option<(Timestamp, SenderAddress)>,
    limit: u64,
}

impl Operation for List {
    type Output = Vec<Sender>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Sender>, StoreError> {
        let rows = match &self.after {
            Some((activity, address)) => {
                let select = "SELECT address, first_seen, last_activity,
                         (SELECT COUNT(*) FROM exchanges WHERE exchanges.sender = senders.address)
                     FROM senders WHERE (last_activity, address) < (?1, ?2)
                     ORDER BY last_activity DESC, address DESC LIMIT ?3";
                sql.query(select, values![*activity, address.as_str(), self.limit]).await?
            }
            None => {
                let select = "SELECT address, first_seen, last_activity,
                         (SELECT COUNT(*) FROM exchanges WHERE exchanges.sender = senders.address)
                     FROM senders ORDER BY last_activity DESC, address DESC LIMIT ?1";
                sql.query(select, values![self.limit]).await?
            }
        };
        rows.iter().map(sender).collect()
    }
}

struct Recent {
    senders: BTreeSet<SenderAddress>,
    count: u64,
}

impl Operation for Recent {
    type Output = BTreeMap<SenderAddress, Vec<SenderExchange>>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Self::Output, StoreError> {
        let mut recent = BTreeMap::new();
        for address in &self.senders {
            let exchanges = last_exchanges(sql, address, self.count).await?;
            if !exchanges.is_empty() {
                recent.insert(address.clone(), exchanges);
            }
        }
        Ok(recent)
    }
}

/// The last exchanges of a sender, the oldest first.
async fn last_exchanges(
    sql: &mut Transaction<'_>,
    address: &SenderAddress,
    count: u64,
) -> Result<Vec<SenderExchange>, StoreError> {
    let select =
        "SELECT inbox_message_id, sender, sender_body, agent_reply, turn_id, timestamp FROM exchanges
         WHERE sender = ?1 ORDER BY seq DESC LIMIT ?2";
    let rows = sql.query(select, values![address.as_str(), count]).await?;
    rows.iter().rev().map(exchange).collect()
}

fn sender(row: &Row) -> Result<Sender, StoreError> {
    Ok(Sender {
        address: row.parse(0)?,
        first_seen: row.parse(1)?,
        last_activity: row.parse(2)?,
        exchanges: row.get(3)?,
    })
}

fn exchange(row: &Row) -> Result<SenderExchange, StoreError> {
    Ok(SenderExchange {
        inbox_message: row.parse(0)?,
        sender: row.parse(1)?,
        body: row.get(2)?,
        reply: row.get(3)?,
        turn: row.parse(4)?,
        at: row.parse(5)?,
    })
}
