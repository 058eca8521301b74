//! The layers of the prompt: readable at the caller's trust, writable by the owner.

mod body;
pub(crate) mod write;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use foreword_core::api_token::Scope;
use foreword_prompt::blueprint::Blueprint;
use foreword_prompt::layer::{Layer, LayerId};
use foreword_prompt::trust::Trust;
use foreword_store::layers::MutableLayer;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use self::body::{LayerBody, LayerLine, VersionBody};
use super::cursor::part;
use super::error_responses::{CommonErrors, NotFoundError};
use super::etag::json_with_etag;
use super::extract::{Path, Query};
use super::pagination::{Page, PageQuery};
use super::permission::any_of;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AgentQuery {
    /// The agent, if there are several. Default: the first.
    agent: Option<String>,
}

/// The layers of a blueprint.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Layers {
    /// The blueprint's name.
    #[schema(example = "sovereign")]
    blueprint: String,
    /// The maximum total length of all layers, if limited.
    max_chars: Option<usize>,
    /// The remaining length; for the owner.
    remaining: Option<usize>,
    /// The layers, in the order of the prompt.
    layers: Vec<LayerLine>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// Lists the layers that the caller's trust permits. With `observe` or `admin`.
#[utoipa::path(get, path = "/api/v1/layers", tag = "layers", params(AgentQuery, PageQuery),
    responses((status = 200, body = Layers), (status = 304, description = "Not modified."), CommonErrors, NotFoundError))]
pub(crate) async fn list_layers(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<AgentQuery>,
    Query(page): Query<PageQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let access = LayerAccess::of(&app, &caller, query.agent.as_deref())?;
    let stored: BTreeMap<LayerId, MutableLayer> = app
        .store
        .layers(&access.blueprint.name)
        .await?
        .into_iter()
        .map(|layer| (layer.current.layer.clone(), layer))
        .collect();
    let lines = access.visible().map(|layer| LayerLine::of(layer, stored.get(&layer.id))).collect();
    let (layers, next) = page.cut(lines, |line: &LayerLine| &line.id)?;
    let remaining = access.is_owner().then(|| body::remaining(&access.blueprint, &stored)).flatten();
    let (blueprint, max_chars) = (access.blueprint.name.to_string(), access.blueprint.max_chars);
    Ok(json_with_etag(&headers, &Layers { blueprint, max_chars, remaining, layers, next }))
}

/// Returns a layer, with its text if that does not depend on the occasion. With `observe` or `admin`.
#[utoipa::path(get, path = "/api/v1/layers/{id}", tag = "layers",
    params(("id" = String, Path, description = "The layer's id."), AgentQuery),
    responses((status = 200, body = LayerBody), (status = 304, description = "Not modified."), CommonErrors, NotFoundError))]
pub(crate) async fn get_layer(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<AgentQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let access = LayerAccess::of(&app, &caller, query.agent.as_deref())?;
    Ok(json_with_etag(&headers, &access.body(&app, &id).await?))
}

/// Lists the versions of a mutable layer, newest first. With `observe` or `admin`.
#[utoipa::path(get, path = "/api/v1/layers/{id}/history", tag = "layers",
    params(("id" = String, Path, description = "The layer's id."), AgentQuery, PageQuery),
    responses((status = 200, body = Page<VersionBody>), CommonErrors, NotFoundError))]
pub(crate) async fn list_layer_versions(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<AgentQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<VersionBody>>, Problem> {
    let access = LayerAccess::of(&app, &caller, query.agent.as_deref())?;
    access.layer(&id)?;
    let limit = u32::try_from(page.limit()?).unwrap_or(u32::MAX);
    let before = page.after().map(part::<u64>).transpose()?;
    let mut versions = app.store.layer_history(&access.blueprint.name, &id, before, limit + 1).await?;
    let more = versions.len() > limit as usize;
    versions.truncate(limit as usize);
    let next = versions.last().filter(|_| more).map(|last| last.version.to_string());
    Ok(Json(Page { items: versions.into_iter().map(VersionBody::from).collect(), next }))
}

/// The blueprint and the caller's trust.
struct LayerAccess {
    blueprint: Arc<Blueprint>,
    trust: Trust,
}

impl LayerAccess {
    fn of(app: &App, caller: &Caller, agent: Option<&str>) -> Result<Self, Problem> {
        any_of(caller, &[Scope::Observe, Scope::Admin])?;
        let snapshot = app.workspace.snapshot();
        let view = snapshot.of_agent(agent);
        let view = view.map_err(|_| Problem::not_found("agent", agent.unwrap_or_default()))?;
        Ok(Self { blueprint: Arc::clone(&view.config.blueprint), trust: caller.trust(&snapshot.config) })
    }

    fn is_owner(&self) -> bool {
        self.trust == Trust::Full
    }

    fn visible(&self) -> impl Iterator<Item = &Layer> {
        self.blueprint.layers.iter().filter(|layer| self.trust.permits(layer.trust))
    }

    /// The layer, if the caller may see it.
    fn layer(&self, id: &str) -> Result<&Layer, Problem> {
        self.visible().find(|layer| layer.id.as_str() == id).ok_or_else(|| Problem::not_found("layer", id))
    }

    async fn body(&self, app: &App, id: &str) -> Result<LayerBody, Problem> {
        let layer = self.layer(id)?;
        let stored = match layer.mutable {
            Some(_) => app.store.layer(&self.blueprint.name, id).await?,
            None => None,
        };
        Ok(LayerBody::of(layer, stored))
    }
}
