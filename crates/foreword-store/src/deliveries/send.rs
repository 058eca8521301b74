//! Sending deliveries: nodes claim them for a limited time and record the result.

use std::time::Duration;

use foreword_core::id::{DeliveryId, NodeId};
use foreword_core::timestamp::Timestamp;

use super::{Delivery, columns, delivery};
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// A request to claim due deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimDeliveries {
    /// The claiming node.
    pub node: NodeId,
    /// How long the claim lasts. Afterwards another node may try.
    pub lease: Duration,
    /// The maximum number to claim.
    pub limit: u64,
    /// The current time.
    pub now: Timestamp,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SendOutcome {
    /// The bridge accepted it.
    Taken,
    /// It failed and is retried.
    Later {
        error: String,
        /// When it is retried.
        due_at: Timestamp,
    },
    /// It failed and is not retried.
    GivenUp { error: String },
}

impl Store {
    /// Claims due deliveries. Claims only the oldest of each channel, so that answers arrive in order.
    pub async fn claim_deliveries(&self, claim: ClaimDeliveries) -> Result<Vec<Delivery>, StoreError> {
        self.run(Claim(claim)).await
    }

    /// Records the result of an attempt. Returns whether this node still held the claim.
    pub async fn delivery_sent(
        &self,
        id: &DeliveryId,
        node: &NodeId,
        sent: SendOutcome,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        self.run(Note { id: id.clone(), node: node.clone(), sent, at }).await
    }

    /// Retries a delivery that was given up, with a fresh attempt count.
    ///
    /// # Errors
    /// If no given-up delivery has that id, or the database can't be written.
    pub async fn retry_delivery(&self, id: &DeliveryId, at: Timestamp) -> Result<Delivery, StoreError> {
        self.run(Retry { id: id.clone(), at }).await
    }

    /// When the next delivery is due, if there is one.
    pub async fn next_delivery(&self) -> Result<Option<Timestamp>, StoreError> {
        self.run(Next).await
    }
}

struct Claim(ClaimDeliveries);

impl Operation for Claim {
    type Output = Vec<Delivery>;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Delivery>, StoreError> {
        let Self(claim) = self;
        // Serialises claims, so that no two nodes claim the same delivery.
        sql.lock("deliveries").await?;
        let now = sql.clock(claim.now).await?;
        let due = concat!(
            "SELECT ",
            columns!(),
            " FROM deliveries d WHERE d.delivered_at IS NULL AND d.gave_up_at IS NULL AND d.due_at <= ?1
            AND (d.claimed_until IS NULL OR d.claimed_until < ?1)
            AND NOT EXISTS (SELECT 1 FROM deliveries e WHERE e.channel = d.channel AND e.seq < d.seq
                AND e.delivered_at IS NULL AND e.gave_up_at IS NULL)
            ORDER BY d.seq LIMIT ?2"
        );
        let rows = sql.query(due, values![now, claim.limit]).await?;
        let claimed: Vec<Delivery> = rows.iter().map(delivery).collect::<Result<_, _>>()?;
        let update = "UPDATE deliveries SET claimed_by = ?2, claimed_until = ?3, attempts = attempts + 1
            WHERE id = ?1";
        for one in &claimed {
            sql.execute(update, values![&one.id, &claim.node, now.plus(claim.lease)]).await?;
        }
        Ok(claimed.into_iter().map(|one| Delivery { attempts: one.attempts + 1, ..one }).collect())
    }
}

struct Note {
    id: DeliveryId,
    node: NodeId,
    sent: SendOutcome,
    at: Timestamp,
}

impl Operation for Note {
    type Output = bool;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<bool, StoreError> {
        let now = sql.clock(self.at).await?;
        let (delivered, gave_up, error, due) = match &self.sent {
            SendOutcome::Taken => (Some(now), None, None, None),
            SendOutcome::Later { error, due_at } => {
                // Converts the caller's time to the database's clock.
                (None, None, Some(error), Some(now.plus(due_at.since(self.at))))
            }
            SendOutcome::GivenUp { error } => (None, Some(now), Some(error), None),
        };
        let update = "UPDATE deliveries SET delivered_at = ?3, gave_up_at = ?4, error = ?5,
            due_at = COALESCE(?6, due_at), claimed_by = NULL, claimed_until = NULL
            WHERE id = ?1 AND claimed_by = ?2 AND delivered_at IS NULL";
        let values = values![&self.id, &self.node, delivered, gave_up, error, due];
        Ok(sql.execute(update, values).await? > 0)
    }
}

struct Retry {
    id: DeliveryId,
    at: Timestamp,
}

impl Operation for Retry {
    type Output = Delivery;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Delivery, StoreError> {
        let now = sql.clock(self.at).await?;
        let update = "UPDATE deliveries SET gave_up_at = NULL, attempts = 0, due_at = ?2
            WHERE id = ?1 AND gave_up_at IS NOT NULL AND delivered_at IS NULL";
        if sql.execute(update, values![&self.id, now]).await? == 0 {
            return Err(StoreError::NotFound { what: "delivery that was given up", id: self.id.to_string() });
        }
        let select = concat!("SELECT ", columns!(), " FROM deliveries WHERE id = ?1");
        match sql.query_optional(select, values![&self.id]).await? {
            Some(row) => delivery(&row),
            None => Err(StoreError::NotFound { what: "delivery", id: self.id.to_string() }),
        }
    }
}

struct Next;

impl Operation for Next {
    type Output = Option<Timestamp>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<Timestamp>, StoreError> {
        let select = "SELECT MIN(due_at) FROM deliveries WHERE delivered_at IS NULL AND gave_up_at IS NULL";
        let row = sql.query_optional(select, &[]).await?;
        row.map_or(Ok(None), |row| row.parse_optional(0))
    }
}
