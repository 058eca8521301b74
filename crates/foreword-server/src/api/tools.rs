//! The tools that the agent may use where the caller speaks to it: what `foreword tools` lists, as far as they are trusted.

use axum::extract::State;
use foreword_agent::tool_sets::OfferedTool;
use foreword_core::api_token::Scope;
use foreword_core::tools::parameters_schema;
use http::HeaderMap;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::etag::tagged;
use super::extract::Query;
use super::paging::PageQuery;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_tools))
}

/// The tools there are.
#[derive(Debug, Serialize, ToSchema)]
struct Tools {
    /// Those of the program first.
    tools: Vec<ToolBody>,
    /// What to ask for `after` to get the rest, if this is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A tool.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tool)]
struct ToolBody {
    /// What the model calls it.
    #[schema(example = "memory_search")]
    name: String,
    /// The least trust at which it may be called.
    #[schema(example = "familiar")]
    trust: &'static str,
    /// `built in`, or the name of the server it is from.
    #[schema(example = "built in")]
    source: String,
    /// Whether a turn that has read text from outside needs the owner's word for it.
    sensitive: bool,
    /// When to use it and what comes back.
    description: String,
    /// The JSON Schema of what it takes.
    schema: Value,
}

/// The tools that the agent may use with you
///
/// Those that need more trust than yours are not there. Has an `ETag`.
#[utoipa::path(get, path = "/api/v1/tools", tag = "agent", security(("bearer" = ["chat"])), params(PageQuery),
    responses(
        (status = 200, body = Tools),
        (status = 304, description = "Nothing has changed."),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
async fn list_tools(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
    headers: HeaderMap,
) -> Result<axum::response::Response, Problem> {
    caller.needs(Scope::Chat)?;
    let tools = app.agent.tools_at(caller.trust(&app.config()));
    let (tools, next) = page.cut(tools.into_iter().map(ToolBody::from).collect(), |tool| &tool.name)?;
    Ok(tagged(&headers, &Tools { tools, next }))
}

impl From<OfferedTool> for ToolBody {
    fn from(tool: OfferedTool) -> Self {
        Self {
            trust: tool.spec.trust.as_str(),
            source: tool.server.unwrap_or_else(|| "built in".to_owned()),
            sensitive: tool.sensitive,
            schema: parameters_schema(&tool.spec),
            description: tool.spec.description,
            name: tool.spec.name,
        }
    }
}
