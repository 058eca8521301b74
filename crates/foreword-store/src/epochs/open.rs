//! Opens epochs. Stores each distinct frozen text once, and deletes it when no epoch uses it.

use std::collections::BTreeSet;
use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_prompt::epoch::{Decision, EpochTriggers, Reason, decide};
use foreword_prompt::text::ContentHash;
use serde::Serialize;

use super::read::newest;
use super::{CurrentEpoch, EpochInfo, ProposedEpoch, StoredEpoch};
use crate::changes::StoreChange;
use crate::conversation_lock;
use crate::engine::{Access, Operation, Transaction, values};
use crate::error::StoreError;

/// Returns the current epoch if it may be reused.
pub(super) struct Reuse(pub(super) Arc<ProposedEpoch>);

impl Operation for Reuse {
    type Output = Option<CurrentEpoch>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<CurrentEpoch>, StoreError> {
        reusable(newest(sql, &self.0.conversation).await?, &self.0)
    }
}

/// The newest epoch, if it may be reused.
pub(crate) fn reusable(
    newest: Option<StoredEpoch>,
    proposed: &ProposedEpoch,
) -> Result<Option<CurrentEpoch>, StoreError> {
    let Some(epoch) = newest else { return Ok(None) };
    match decide(Some(&epoch.dependencies), &proposed.dependencies, proposed.triggers) {
        Decision::Reuse { drifted } => {
            Ok(Some(CurrentEpoch::Reused { epoch: epoch.verified(&proposed.conversation)?, drifted }))
        }
        Decision::Open(_) => Ok(None),
    }
}

/// Returns the current epoch if it may be reused, else opens one.
pub(crate) struct Open(pub(crate) Arc<ProposedEpoch>);

impl Operation for Open {
    type Output = CurrentEpoch;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<CurrentEpoch, StoreError> {
        let proposed = &*self.0;
        conversation_lock::lock(sql, &proposed.conversation).await?;
        conversation_lock::must_exist(sql, &proposed.conversation).await?;
        let opened = open_or_reuse(sql, proposed, proposed.triggers).await?;
        if matches!(opened, CurrentEpoch::Opened(_)) {
            sql.announce(StoreChange::Conversation(proposed.conversation.clone()));
        }
        Ok(opened)
    }
}

/// Decides whether to reuse or open, and opens an epoch if needed. The caller holds the conversation's lock.
pub(crate) async fn open_or_reuse(
    sql: &mut Transaction<'_>,
    proposed: &ProposedEpoch,
    triggers: EpochTriggers,
) -> Result<CurrentEpoch, StoreError> {
    let newest = newest(sql, &proposed.conversation).await?;
    let current = newest.as_ref().map(|epoch| &epoch.dependencies);
    match (decide(current, &proposed.dependencies, triggers), newest) {
        (Decision::Reuse { drifted }, Some(epoch)) => {
            Ok(CurrentEpoch::Reused { epoch: epoch.verified(&proposed.conversation)?, drifted })
        }
        (Decision::Reuse { .. }, None) => open(sql, proposed, 1, Reason::FirstTurn).await,
        // A damaged text does not matter here: it is replaced.
        (Decision::Open(reason), newest) => {
            let number = newest.map_or(1, |epoch| epoch.info.number + 1);
            open(sql, proposed, number, reason).await
        }
    }
}

async fn open(
    sql: &mut Transaction<'_>,
    proposed: &ProposedEpoch,
    number: u64,
    reason: Reason,
) -> Result<CurrentEpoch, StoreError> {
    let epoch = StoredEpoch {
        info: EpochInfo {
            number,
            trust: proposed.dependencies.hard.trust,
            fingerprint: ContentHash::of(&proposed.prompt.text),
            built_from: proposed.dependencies.fingerprint(),
            reason,
            tokens: proposed.prompt.tokens,
            layer_versions: proposed.layer_versions.clone(),
            template_version: proposed.template_version,
            opened_at: proposed.at,
        },
        prompt: proposed.prompt.clone(),
        dependencies: proposed.dependencies.clone(),
    };
    insert(sql, &proposed.conversation, &epoch).await?;
    Ok(CurrentEpoch::Opened(epoch))
}

async fn insert(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
    epoch: &StoredEpoch,
) -> Result<(), StoreError> {
    let StoredEpoch { info, prompt, dependencies } = epoch;
    // The upsert locks an existing text against deletion until the commit, and repairs a damaged one.
    sql.execute(
        "INSERT INTO texts (hash, text) VALUES (?1, ?2)
         ON CONFLICT (hash) DO UPDATE SET text = excluded.text WHERE texts.text <> excluded.text",
        values![info.fingerprint, &*prompt.text],
    )
    .await?;
    sql.execute(
        "INSERT INTO epochs (conversation_id, number, trust, text_hash, built_from, dependencies, blocks, layers,
             layer_versions, template_version, reason, tokens, opened_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        values![
            conversation,
            info.number,
            info.trust,
            info.fingerprint,
            info.built_from,
            to_json(dependencies)?,
            to_json(&prompt.blocks)?,
            to_json(&prompt.layers)?,
            to_json(&info.layer_versions)?,
            info.template_version,
            to_json(&info.reason)?,
            info.tokens,
            info.opened_at
        ],
    )
    .await?;
    Ok(())
}

fn to_json(part: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(part)
        .map_err(|error| StoreError::Unreadable { what: format!("a part of an epoch: {error}") })
}

/// The hashes of a conversation's frozen texts, sorted, so that two transactions that lock several don't deadlock.
pub(crate) async fn texts_of(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
) -> Result<BTreeSet<ContentHash>, StoreError> {
    let rows = sql.query(TEXTS_OF, values![conversation]).await?;
    rows.iter().map(|row| row.parse(0)).collect()
}

pub(crate) const TEXTS_OF: &str = "SELECT text_hash FROM epochs WHERE conversation_id = ?1";
pub(crate) const DROP_UNUSED: &str =
    "DELETE FROM texts WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM epochs WHERE text_hash = ?1)";

/// Deletes those of `texts` that no epoch uses.
pub(crate) async fn drop_unused_texts(
    sql: &mut Transaction<'_>,
    texts: &BTreeSet<ContentHash>,
) -> Result<(), StoreError> {
    for hash in texts {
        // Waits for transactions that open an epoch with this text, so that the next statement sees that epoch.
        sql.execute("UPDATE texts SET hash = hash WHERE hash = ?1", values![*hash]).await?;
        sql.execute(DROP_UNUSED, values![*hash]).await?;
    }
    Ok(())
}
