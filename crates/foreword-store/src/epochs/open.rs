//! Opening epochs, and keeping each frozen text once, for as long as somebody uses it.

use std::collections::BTreeSet;
use std::sync::Arc;

use foreword_core::id::ConversationId;
use foreword_prompt::epoch::{Circumstances, Decision, Reason, decide};
use foreword_prompt::text::ContentHash;
use serde::Serialize;

use super::read::newest;
use super::{EpochInfo, InForce, Proposed, StoredEpoch};
use crate::changes::Change;
use crate::conversations;
use crate::engine::{Access, Operation, Sql, values};
use crate::error::StoreError;

/// The epoch in force, if it may be used again.
pub(super) struct Reuse(pub(super) Arc<Proposed>);

impl Operation for Reuse {
    type Output = Option<InForce>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Option<InForce>, StoreError> {
        reusable(newest(sql, &self.0.conversation).await?, &self.0)
    }
}

/// The newest epoch, if it may be used again.
pub(super) fn reusable(
    newest: Option<StoredEpoch>,
    proposed: &Proposed,
) -> Result<Option<InForce>, StoreError> {
    let Some(epoch) = newest else { return Ok(None) };
    match decide(Some(&epoch.dependencies), &proposed.dependencies, proposed.circumstances) {
        Decision::Reuse { drifted } => {
            Ok(Some(InForce::Reused { epoch: epoch.verified(&proposed.conversation)?, drifted }))
        }
        Decision::Open(_) => Ok(None),
    }
}

/// The epoch in force if it may be used again, else a new one.
pub(super) struct Open(pub(super) Arc<Proposed>);

impl Operation for Open {
    type Output = InForce;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<InForce, StoreError> {
        let proposed = &*self.0;
        conversations::lock(sql, &proposed.conversation).await?;
        conversations::must_exist(sql, &proposed.conversation).await?;
        let opened = open_or_reuse(sql, proposed, proposed.circumstances).await?;
        if matches!(opened, InForce::Opened(_)) {
            sql.announce(Change::Conversation(proposed.conversation.clone())).await?;
        }
        Ok(opened)
    }
}

/// Decides, and opens an epoch if that is the decision. The caller holds the conversation's lock.
pub(crate) async fn open_or_reuse<S: Sql>(
    sql: &mut S,
    proposed: &Proposed,
    circumstances: Circumstances,
) -> Result<InForce, StoreError> {
    let newest = newest(sql, &proposed.conversation).await?;
    let current = newest.as_ref().map(|epoch| &epoch.dependencies);
    match (decide(current, &proposed.dependencies, circumstances), newest) {
        (Decision::Reuse { drifted }, Some(epoch)) => {
            Ok(InForce::Reused { epoch: epoch.verified(&proposed.conversation)?, drifted })
        }
        (Decision::Reuse { .. }, None) => open(sql, proposed, 1, Reason::FirstTurn).await,
        // A damaged text is no obstacle here: it is not read any more.
        (Decision::Open(reason), newest) => {
            let number = newest.map_or(1, |epoch| epoch.info.number + 1);
            open(sql, proposed, number, reason).await
        }
    }
}

async fn open<S: Sql>(
    sql: &mut S,
    proposed: &Proposed,
    number: u64,
    reason: Reason,
) -> Result<InForce, StoreError> {
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
    Ok(InForce::Opened(epoch))
}

async fn insert<S: Sql>(
    sql: &mut S,
    conversation: &ConversationId,
    epoch: &StoredEpoch,
) -> Result<(), StoreError> {
    let StoredEpoch { info, prompt, dependencies } = epoch;
    // A text that is there is held until we are done, so that nobody deletes it in between; one that is damaged is put
    // right.
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

/// The frozen texts that a conversation uses. They come in order, so that two who wait for several don't wait for each
/// other.
pub(crate) async fn texts_of<S: Sql>(
    sql: &mut S,
    conversation: &ConversationId,
) -> Result<BTreeSet<ContentHash>, StoreError> {
    let rows = sql.query(TEXTS_OF, values![conversation]).await?;
    rows.iter().map(|row| row.parse(0)).collect()
}

pub(crate) const TEXTS_OF: &str = "SELECT text_hash FROM epochs WHERE conversation_id = ?1";
pub(crate) const DROP_UNUSED: &str =
    "DELETE FROM texts WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM epochs WHERE text_hash = ?1)";

/// Deletes those of `texts` that no epoch uses.
pub(crate) async fn drop_unused_texts<S: Sql>(
    sql: &mut S,
    texts: &BTreeSet<ContentHash>,
) -> Result<(), StoreError> {
    for hash in texts {
        // Waits for whoever is opening an epoch with this text, so that the next statement sees that epoch.
        sql.execute("UPDATE texts SET hash = hash WHERE hash = ?1", values![*hash]).await?;
        sql.execute(DROP_UNUSED, values![*hash]).await?;
    }
    Ok(())
}
