//! Reads turns and their steps.

use foreword_core::failure::Failure;
use foreword_core::id::{ConversationId, TurnId};
use foreword_core::turn_journal::PromptBuilt;

use super::{RecordedStep, StoredTurn};
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;

pub(super) struct Get(pub(super) TurnId);

impl Operation for Get {
    type Output = StoredTurn;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<StoredTurn, StoreError> {
        get(sql, &self.0).await
    }
}

pub(super) struct WithIdPrefix {
    pub(super) beginning: String,
    pub(super) limit: u32,
}

impl Operation for WithIdPrefix {
    type Output = Vec<TurnId>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<TurnId>, StoreError> {
        // Not `LIKE`, because of its wildcards.
        let select = "SELECT id FROM turns WHERE substr(id, 1, length(CAST(?1 AS TEXT))) = ?1
            ORDER BY started_at DESC, id DESC LIMIT ?2";
        let rows = sql.query(select, values![self.beginning.as_str(), self.limit]).await?;
        rows.iter().map(|row| row.parse(0)).collect()
    }
}

pub(super) struct List {
    pub(super) conversation: ConversationId,
    pub(super) before: Option<u64>,
    pub(super) limit: u32,
}

impl Operation for List {
    type Output = Vec<StoredTurn>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<StoredTurn>, StoreError> {
        let select = "SELECT id, conversation_id, state, trust, fence, holder, attempts, epoch, fingerprint,
                layer_versions, error, started_at, ended_at
            FROM turns WHERE conversation_id = ?1 AND fence < ?2 ORDER BY fence DESC LIMIT ?3";
        let before = self.before.unwrap_or(u64::MAX);
        let rows = sql.query(select, values![&self.conversation, before, self.limit]).await?;
        rows.iter().map(turn).collect()
    }
}

pub(super) struct Steps(pub(super) TurnId);

impl Operation for Steps {
    type Output = Vec<RecordedStep>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<RecordedStep>, StoreError> {
        let steps = steps(sql, &self.0).await?;
        if steps.is_empty() {
            // Every turn has a first step, so there is no such turn.
            return Err(StoreError::NotFound { what: "turn", id: self.0.to_string() });
        }
        Ok(steps)
    }
}

pub(super) async fn get(sql: &mut Transaction<'_>, id: &TurnId) -> Result<StoredTurn, StoreError> {
    find(sql, id).await?.ok_or_else(|| StoreError::NotFound { what: "turn", id: id.to_string() })
}

pub(super) async fn find(sql: &mut Transaction<'_>, id: &TurnId) -> Result<Option<StoredTurn>, StoreError> {
    let select = "SELECT id, conversation_id, state, trust, fence, holder, attempts, epoch, fingerprint,
            layer_versions, error, started_at, ended_at
        FROM turns WHERE id = ?1";
    sql.query_optional(select, values![id]).await?.as_ref().map(turn).transpose()
}

pub(super) async fn steps(sql: &mut Transaction<'_>, id: &TurnId) -> Result<Vec<RecordedStep>, StoreError> {
    let select = "SELECT number, data, created_at FROM turn_steps WHERE turn_id = ?1 ORDER BY number";
    let rows = sql.query(select, values![id]).await?;
    rows.iter()
        .map(|row| Ok(RecordedStep { number: row.get(0)?, step: row.json(1)?, at: row.parse(2)? }))
        .collect()
}

/// Reads a turn from a row that begins with the columns of [`find`].
pub(super) fn turn(row: &Row) -> Result<StoredTurn, StoreError> {
    let prompt = match row.parse_optional(8)? {
        Some(fingerprint) => {
            Some(PromptBuilt { fingerprint, epoch: row.get(7)?, layer_versions: row.json(9)? })
        }
        None => None,
    };
    Ok(StoredTurn {
        id: row.parse(0)?,
        conversation: row.parse(1)?,
        state: row.parse(2)?,
        trust: row.parse(3)?,
        fence: row.get(4)?,
        holder: row.parse(5)?,
        attempts: row.get(6)?,
        prompt,
        failure: row.get::<Option<String>>(10)?.map(|text| Failure::from_record(&text)),
        started_at: row.parse(11)?,
        ended_at: row.parse_optional(12)?,
    })
}
