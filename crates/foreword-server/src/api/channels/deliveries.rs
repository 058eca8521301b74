//! The webhook deliveries: list and retry. Owner only.

use axum::extract::State;
use foreword_core::api_token::Scope;
use foreword_core::id::DeliveryId;
use foreword_store::deliveries::Delivery;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::extract::{Path, Query};
use crate::api::pagination::{Page, PageQuery};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// A webhook delivery.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliveryItem {
    /// Its id, as sent to the bridge.
    id: String,
    /// The channel.
    channel: String,
    /// The conversation.
    conversation: String,
    /// The turn of the answer.
    turn: Option<String>,
    /// The message it answers.
    in_reply_to: Option<String>,
    /// `waiting`, `delivered` or `given_up`.
    status: &'static str,
    /// The number of attempts.
    attempts: u64,
    /// When it was created.
    created_at: String,
    /// When it is tried next.
    due_at: String,
    /// When it was delivered or given up.
    ended_at: Option<String>,
    /// The last error.
    error: Option<String>,
}

/// Lists webhook deliveries, newest first. Owner only, with `observe`.
#[utoipa::path(get, path = "/api/v1/channels/deliveries", tag = "channels", params(PageQuery),
    responses((status = 200, body = Page<DeliveryItem>), (status = 400, body = Problem)))]
pub(crate) async fn list_deliveries(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
) -> Result<axum::Json<Page<DeliveryItem>>, Problem> {
    caller.require_owner(Scope::Observe, &app.config())?;
    let limit = page.limit()?;
    let before = page.after().map(str::parse).transpose();
    let before = before
        .map_err(|_| Problem::bad_request("bad_after", "`after` is not a valid cursor of this list"))?;
    let found = app.store.deliveries(before, limit).await?;
    let is_full = found.len() as u64 == limit;
    let next = found.last().filter(|_| is_full).map(|last| last.number.to_string());
    Ok(axum::Json(Page { items: found.into_iter().map(item).collect(), next }))
}

/// Retries a delivery that was given up. Owner only, with `admin`.
#[utoipa::path(post, path = "/api/v1/channels/deliveries/{id}/retry", tag = "channels",
    params(("id" = String, Path, description = "The delivery.")),
    responses((status = 200, body = DeliveryItem), (status = 400, body = Problem), (status = 404, body = Problem)))]
pub(crate) async fn retry_delivery(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<axum::Json<DeliveryItem>, Problem> {
    caller.require_owner(Scope::Admin, &app.config())?;
    let id = DeliveryId::new(id.as_str()).map_err(|_| Problem::not_found("delivery", &id))?;
    let delivery = app.store.retry_delivery(&id, app.now()).await?;
    app.retry_deliveries.notify_one();
    Ok(axum::Json(item(delivery)))
}

fn item(delivery: Delivery) -> DeliveryItem {
    let status = match (delivery.delivered_at, delivery.gave_up_at) {
        (Some(_), _) => "delivered",
        (None, Some(_)) => "given_up",
        (None, None) => "waiting",
    };
    DeliveryItem {
        id: delivery.id.to_string(),
        channel: delivery.channel,
        conversation: delivery.conversation.to_string(),
        turn: delivery.turn.map(|turn| turn.to_string()),
        in_reply_to: delivery.in_reply_to.map(|message| message.to_string()),
        status,
        attempts: delivery.attempts,
        created_at: delivery.created_at.to_string(),
        due_at: delivery.due_at.to_string(),
        ended_at: delivery.delivered_at.or(delivery.gave_up_at).map(|at| at.to_string()),
        error: delivery.error,
    }
}
