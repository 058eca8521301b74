//! Bridges to messengers: messages come in with a key that makes each count once, answers go out by signed webhook.

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
}
