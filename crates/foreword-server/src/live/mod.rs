//! What happens in conversations, for whoever looks on: numbered, kept for a while, the same on every node; over WebSocket and as server-sent events.

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
}
