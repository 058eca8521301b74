//! Bridges to messengers: messages come in with a key that makes each count once, answers go out by signed webhook.

mod backoff;
mod inbound;
mod listing;
mod outbound;
mod signature;
mod webhook;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(crate) use inbound::is_of_channel;
pub(crate) use outbound::send_answers;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(inbound::take_in))
        .routes(routes!(listing::list))
        .routes(routes!(listing::retry))
}
