//! The HTTP interface, a file for each group of routes. A handler reads what was sent, asks the crates below, and writes what
//! they say; it decides nothing.

mod cache;
mod conversations;
mod costs;
mod cursor;
mod etag;
mod event_body;
mod events;
pub(crate) mod extract;
mod inbox;
mod layers;
mod looking;
mod memory;
mod moment;
mod occasions;
pub(crate) mod paging;
mod permission;
mod prompts;
mod refusals;
mod schedules;
mod senders;
mod session;
mod simulate;
mod status;
mod template;
mod tokens;
mod tools;
mod traces;
mod turns;
mod workflow_runs;
mod workflows;

use utoipa_axum::router::OpenApiRouter;

pub(crate) use conversations::{change, present, refused};
pub(crate) use etag::tagged;

use crate::app::App;

/// All routes below `/api/v1`, and those of the template.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(cache::routes())
        .merge(conversations::routes())
        .merge(costs::routes())
        .merge(events::routes())
        .merge(inbox::routes())
        .merge(layers::routes())
        .merge(memory::routes())
        .merge(occasions::routes())
        .merge(prompts::routes())
        .merge(schedules::routes())
        .merge(senders::routes())
        .merge(session::routes())
        .merge(simulate::routes())
        .merge(status::routes())
        .merge(template::routes())
        .merge(tokens::routes())
        .merge(tools::routes())
        .merge(traces::routes())
        .merge(turns::routes())
        .merge(workflows::routes())
}

/// What needs no token because it is how one is shown.
pub(crate) fn open_routes() -> OpenApiRouter<App> {
    session::open_routes()
}
