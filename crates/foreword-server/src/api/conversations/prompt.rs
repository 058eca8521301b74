//! The frozen prompt of a conversation and its earlier epochs, as the caller's trust permits.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::epoch::Reason;
use foreword_prompt::trust::Trust;
use foreword_store::epochs::{EpochInfo, FrozenBlock, StoredEpoch};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::api::cursor::part;
use crate::api::error_responses::{CommonErrors, NotFoundError};
use crate::api::etag::json_with_etag;
use crate::api::extract::{Path, Query};
use crate::api::pagination::{Page, PageQuery};
use crate::api::permission::conversation;
use crate::app::App;
use crate::auth::{Caller, VisibleConversation};
use crate::problem::Problem;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PromptQuery {
    /// The epoch whose text to return. Default: the current one.
    epoch: Option<u64>,
}

/// The frozen prompt of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FrozenPrompt {
    /// The number of the current epoch for this caller, if any.
    in_force: Option<u64>,
    /// The text of the current or the requested epoch.
    epoch: Option<EpochText>,
    /// The epochs, newest first.
    epochs: Page<EpochBody>,
}

/// An epoch.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EpochBody {
    /// Its number in the conversation, from 1.
    number: u64,
    /// The trust needed to see it.
    #[schema(value_type = String, example = "inner")]
    trust: Trust,
    /// The hash of the frozen text.
    fingerprint: String,
    /// A hash of everything it was built from.
    built_from: String,
    /// Why it was opened: `first_turn`, `compaction`, `trust_fell`, `changed` or `cache_cold`.
    #[schema(example = "first_turn")]
    reason: &'static str,
    /// The reason as a sentence; for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    /// Size in tokens.
    tokens: u64,
    /// The versions of the mutable layers in it.
    layer_versions: BTreeMap<String, u64>,
    /// The version of the stored template it was built from.
    template_version: Option<u64>,
    /// When it was opened.
    #[schema(value_type = String, format = DateTime)]
    opened_at: Timestamp,
}

/// The text of an epoch.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EpochText {
    /// Its number in the conversation.
    number: u64,
    /// The hash of the frozen text.
    fingerprint: String,
    /// The exact text.
    text: String,
    /// Its blocks; a cache breakpoint can follow each.
    blocks: Vec<BlockBody>,
}

/// A block of frozen text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BlockBody {
    /// How long it can be cached: `static`, `agent`, `conversation` or `none`.
    #[schema(value_type = String, example = "static")]
    cache: foreword_prompt::prompt::CacheClass,
    /// Its byte range in `text`.
    range: [usize; 2],
    /// The layers in it.
    layers: Vec<String>,
    /// Size in tokens.
    tokens: u64,
}

/// Returns the current frozen prompt and its history, as the caller's trust permits. With `chat` or `observe`.
#[utoipa::path(get, path = "/api/v1/conversations/{id}/prompt", tag = "conversations",
    params(("id" = String, Path, description = "The conversation."), PromptQuery, PageQuery),
    responses((status = 200, body = FrozenPrompt), (status = 304, description = "Not modified."),
        CommonErrors, NotFoundError))]
pub(crate) async fn get_prompt(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<PromptQuery>,
    Query(page): Query<PageQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let seen = conversation(&app, &caller, &id).await?;
    let id = &seen.conversation.id;
    let limit = usize::try_from(page.limit()?).unwrap_or(usize::MAX);
    let before = page.after().map(part::<u64>).transpose()?.unwrap_or(u64::MAX);
    let mut visible: Vec<EpochInfo> = Vec::new();
    for info in app.store.epochs(id).await?.into_iter().rev() {
        if is_visible(&app, &seen, &caller, &info).await? {
            visible.push(info);
        }
    }
    let in_force = match seen.trust {
        Trust::Full => visible.first().map(|newest| newest.number),
        trust => app.store.epoch(id, trust, Some(caller.user())).await?.map(|epoch| epoch.info.number),
    };
    let wanted = query.epoch.or(in_force);
    let epoch = match wanted.filter(|wanted| visible.iter().any(|info| info.number == *wanted)) {
        Some(number) => Some(text(app.store.epoch_number(id, number).await?)),
        None => None,
    };
    if let (Some(number), None) = (query.epoch, &epoch) {
        return Err(Problem::not_found("epoch", &number.to_string()));
    }
    let mut rest = visible.into_iter().filter(|info| info.number < before);
    let items: Vec<EpochBody> = rest.by_ref().take(limit).map(|info| epoch_body(info, seen.trust)).collect();
    let next = rest.next().and(items.last()).map(|last| last.number.to_string());
    Ok(json_with_etag(&headers, &FrozenPrompt { in_force, epoch, epochs: Page { items, next } }))
}

/// Whether the caller's trust permits an epoch, and it is not personal to another user.
async fn is_visible(
    app: &App,
    seen: &VisibleConversation,
    caller: &Caller,
    info: &EpochInfo,
) -> Result<bool, Problem> {
    if seen.trust == Trust::Full {
        return Ok(true);
    }
    if !seen.permits(info.trust) {
        return Ok(false);
    }
    let epoch = app.store.epoch_number(&seen.conversation.id, info.number).await?;
    let personal_to = epoch.dependencies.hard.personal_to;
    Ok(personal_to.is_none_or(|person| *person == *caller.user()))
}

fn epoch_body(info: EpochInfo, trust: Trust) -> EpochBody {
    EpochBody {
        number: info.number,
        trust: info.trust,
        fingerprint: info.fingerprint.to_string(),
        built_from: info.built_from.to_string(),
        // The reason may mention values that the caller may not see.
        because: (trust == Trust::Full).then(|| info.reason.to_string()),
        reason: match info.reason {
            Reason::FirstTurn => "first_turn",
            Reason::Compaction => "compaction",
            Reason::TrustFell { .. } => "trust_fell",
            Reason::Changed(_) => "changed",
            Reason::CacheCold => "cache_cold",
        },
        tokens: info.tokens,
        layer_versions: info.layer_versions,
        template_version: info.template_version,
        opened_at: info.opened_at,
    }
}

fn text(epoch: StoredEpoch) -> EpochText {
    let block = |block: FrozenBlock| BlockBody {
        cache: block.class,
        range: [block.range.start, block.range.end],
        layers: block.layers,
        tokens: block.tokens,
    };
    EpochText {
        number: epoch.info.number,
        fingerprint: epoch.info.fingerprint.to_string(),
        text: epoch.prompt.text.to_string(),
        blocks: epoch.prompt.blocks.into_iter().map(block).collect(),
    }
}
