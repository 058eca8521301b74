//! Reads epochs. Verifies the hash of a text before returning it.

use foreword_core::id::ConversationId;
use foreword_prompt::text::ContentHash;
use foreword_prompt::trust::Trust;

use super::{EpochInfo, FrozenPrompt, StoredEpoch};
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;

macro_rules! info_columns {
    () => {
        "number, trust, text_hash, built_from, reason, tokens, layer_versions, template_version, opened_at"
    };
}
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT ",
            info_columns!(),
            ", dependencies, blocks, layers, text FROM epochs JOIN texts ON hash = text_hash ",
            $rest
        )
    };
}

pub(crate) const NEWEST: &str = select!("WHERE conversation_id = ?1 ORDER BY number DESC LIMIT 1");
pub(crate) const NUMBERED: &str = select!("WHERE conversation_id = ?1 AND number = ?2");
pub(crate) const ALL: &str =
    concat!("SELECT ", info_columns!(), " FROM epochs WHERE conversation_id = ?1 ORDER BY number");

pub(super) struct InForceAt(pub(super) ConversationId, pub(super) Trust, pub(super) Option<String>);

impl InForceAt {
    /// Whether an epoch is for this trust and this person.
    fn may_have(&self, epoch: &StoredEpoch) -> bool {
        let personal_to = epoch.dependencies.hard.personal_to.as_deref();
        epoch.info.trust == self.1 && personal_to.is_none_or(|person| self.2.as_deref() == Some(person))
    }
}

impl Operation for InForceAt {
    type Output = Option<StoredEpoch>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<StoredEpoch>, StoreError> {
        match newest(sql, &self.0).await? {
            Some(epoch) if self.may_have(&epoch) => epoch.verified(&self.0).map(Some),
            _ => Ok(None),
        }
    }
}

pub(super) struct Newest(pub(super) ConversationId);

impl Operation for Newest {
    type Output = Option<StoredEpoch>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<StoredEpoch>, StoreError> {
        newest(sql, &self.0).await?.map(|epoch| epoch.verified(&self.0)).transpose()
    }
}

pub(super) struct Numbered(pub(super) ConversationId, pub(super) u64);

impl Operation for Numbered {
    type Output = StoredEpoch;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<StoredEpoch, StoreError> {
        numbered(sql, &self.0, self.1).await
    }
}

pub(super) struct All(pub(super) ConversationId);

impl Operation for All {
    type Output = Vec<EpochInfo>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<EpochInfo>, StoreError> {
        sql.query(ALL, values![&self.0]).await?.iter().map(info).collect()
    }
}

/// The epoch with that number.
pub(crate) async fn numbered(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
    number: u64,
) -> Result<StoredEpoch, StoreError> {
    match sql.query_optional(NUMBERED, values![conversation, number]).await? {
        Some(row) => epoch(&row)?.verified(conversation),
        None => Err(StoreError::NotFound { what: "epoch", id: format!("{conversation}/{number}") }),
    }
}

/// The newest epoch at any trust. Its text is not verified yet.
pub(crate) async fn newest(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
) -> Result<Option<StoredEpoch>, StoreError> {
    sql.query_optional(NEWEST, values![conversation]).await?.as_ref().map(epoch).transpose()
}

impl StoredEpoch {
    /// Fails if the text does not match its hash.
    pub(super) fn verified(self, conversation: &ConversationId) -> Result<Self, StoreError> {
        if ContentHash::of(&self.prompt.text) == self.info.fingerprint {
            return Ok(self);
        }
        Err(StoreError::Damaged {
            what: "the frozen prompt",
            id: format!("{conversation}/{}", self.info.number),
        })
    }
}

fn epoch(row: &Row) -> Result<StoredEpoch, StoreError> {
    let info = info(row)?;
    let prompt = FrozenPrompt {
        text: row.text(12)?.into(),
        tokens: info.tokens,
        blocks: row.json(10)?,
        layers: row.json(11)?,
    };
    Ok(StoredEpoch { info, prompt, dependencies: row.json(9)? })
}

fn info(row: &Row) -> Result<EpochInfo, StoreError> {
    Ok(EpochInfo {
        number: row.get(0)?,
        trust: row.parse(1)?,
        fingerprint: row.parse(2)?,
        built_from: row.parse(3)?,
        reason: row.json(4)?,
        tokens: row.get(5)?,
        layer_versions: row.json(6)?,
        template_version: row.get(7)?,
        opened_at: row.parse(8)?,
    })
}
