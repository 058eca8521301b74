//! Conversations: begin one, list and read them, send a message, make one shorter, see its frozen prompt.

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
}
