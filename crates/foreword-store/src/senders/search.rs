//! Searches senders by address and exchanges.

use foreword_core::sender::SenderAddress;
use foreword_core::timestamp::Timestamp;

use super::{Sender, last_exchanges, sender};
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;
use crate::search_pattern::SearchPattern;

/// Selects candidates; the exact comparison happens afterwards.
const CANDIDATES: &str = "SELECT address, first_seen, last_activity,
         (SELECT COUNT(*) FROM exchanges WHERE exchanges.sender = senders.address)
     FROM senders WHERE (last_activity, address) < (?1, ?2)
     AND (LOWER(address) LIKE ?4 ESCAPE '!' OR EXISTS (SELECT 1 FROM exchanges AS e WHERE e.sender = senders.address
         AND (LOWER(e.sender_body) LIKE ?4 ESCAPE '!' OR LOWER(COALESCE(e.agent_reply, '')) LIKE ?4 ESCAPE '!')))
     ORDER BY last_activity DESC, address DESC LIMIT ?3";

pub(super) struct Search {
    pub(super) pattern: SearchPattern,
    pub(super) after: Option<(Timestamp, SenderAddress)>,
    pub(super) limit: u64,
}

impl Operation for Search {
    type Output = Vec<Sender>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Sender>, StoreError> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let mut behind: (String, String) = match &self.after {
            Some((at, address)) => (at.to_string(), address.to_string()),
            None => (Timestamp::from_micros(i64::MAX).to_string(), String::new()),
        };
        let mut found = Vec::new();
        loop {
            let values = values![&behind.0, &behind.1, self.limit, self.pattern.pattern()];
            let rows = sql.query(CANDIDATES, values).await?;
            let more = !rows.is_empty() && rows.len() >= limit;
            for row in &rows {
                let candidate = sender(row)?;
                behind = (candidate.last_activity.to_string(), candidate.address.to_string());
                if self.finds(sql, &candidate).await? {
                    found.push(candidate);
                }
                if found.len() >= limit {
                    return Ok(found);
                }
            }
            if !more {
                return Ok(found);
            }
        }
    }
}

impl Search {
    async fn finds(&self, sql: &mut Transaction<'_>, candidate: &Sender) -> Result<bool, StoreError> {
        if self.pattern.is_in(candidate.address.as_str()) {
            return Ok(true);
        }
        let said = last_exchanges(sql, &candidate.address, candidate.exchanges).await?;
        let holds = |text: &str| self.pattern.is_in(text);
        Ok(said.iter().any(|one| holds(&one.body) || one.reply.as_deref().is_some_and(holds)))
    }
}
