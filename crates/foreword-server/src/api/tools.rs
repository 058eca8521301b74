//! The tools of the agent for the caller's trust, as `foreword tools` lists them.

use axum::extract::State;
use foreword_agent::tool::sets::ListedTool;
use foreword_core::api_token::Scope;
use foreword_core::tools::parameters_schema;
use http::HeaderMap;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::etag::json_with_etag;
use super::extract::Query;
use super::pagination::PageQuery;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// The tools.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Tools {
    /// Built-in ones first.
    tools: Vec<ToolBody>,
    /// The cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A tool.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tool)]
pub(crate) struct ToolBody {
    /// Its name.
    #[schema(example = "memory_search")]
    name: String,
    /// The minimum trust.
    #[schema(example = "familiar")]
    trust: &'static str,
    /// `built in`, or the name of its server.
    #[schema(example = "built in")]
    source: String,
    /// Whether a turn that has read untrusted text needs the owner's approval for it.
    sensitive: bool,
    /// A description for the model.
    description: String,
    /// The JSON Schema of its arguments.
    schema: Value,
}

/// Lists the tools available to you
///
/// Without those that need more trust than yours. Has an `ETag`.
#[utoipa::path(get, path = "/api/v1/tools", tag = "agent", security(("bearer" = ["chat"])), params(PageQuery),
    responses(
        (status = 200, body = Tools),
        (status = 304, description = "Not modified."),
        (status = 400, body = Problem, content_type = "application/problem+json"),
        (status = 401, body = Problem, content_type = "application/problem+json"),
        (status = 403, body = Problem, content_type = "application/problem+json"),
    ))]
pub(crate) async fn list_tools(
    State(app): State<App>,
    caller: Caller,
    Query(page): Query<PageQuery>,
    headers: HeaderMap,
) -> Result<axum::response::Response, Problem> {
    caller.require(Scope::Chat)?;
    let tools = app.agent.tools_at(caller.trust(&app.config()));
    let (tools, next) = page.cut(tools.into_iter().map(ToolBody::from).collect(), |tool| &tool.name)?;
    Ok(json_with_etag(&headers, &Tools { tools, next }))
}

impl From<ListedTool> for ToolBody {
    fn from(tool: ListedTool) -> Self {
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
