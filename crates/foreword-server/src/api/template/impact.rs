//! Estimates what saving a template would cost in running conversations.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use foreword_agent::reports::template_impact::{ChangedConversation, TemplateImpact};
use foreword_core::money::Money;
use foreword_workspace::template_problems::template_view;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::current;
use super::template_check::{TemplateCheck, draft_problem, normalized};
use crate::api::error_responses::{BodyErrors, CommonErrors};
use crate::api::extract;
use crate::api::permission::owner_reads;
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

const MAX_ITEMS: usize = 50;

/// A draft template.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TemplateToSave {
    /// The text.
    template: String,
}

/// What saving a template would cost at the next epoch of running conversations.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TemplateImpact)]
pub(crate) struct ImpactBody {
    /// Whether it differs from the current template.
    changed: bool,
    /// Number of checked conversations that use the template.
    conversations: usize,
    /// Number of them whose prompt would change.
    affected: u64,
    /// Tokens that are probably cached and would be written again.
    cached_tokens: u64,
    /// Their cost beyond a cache read, in US dollars, as far as prices are known.
    cost_usd: f64,
    /// Number of affected conversations without a known price, which are not included.
    unpriced: u64,
    /// The maximum number of checked conversations, most recently active first.
    max_checked: usize,
    /// Whether there are more.
    or_more: bool,
    /// The affected conversations, most expensive first; at most 50.
    items: Vec<ChangedConversationBody>,
}

/// A conversation whose prompt would change.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChangedConversation)]
pub(crate) struct ChangedConversationBody {
    /// Its id.
    conversation: String,
    /// Its title.
    title: Option<String>,
    /// Its agent.
    agent: String,
    /// Its model.
    model: String,
    /// Tokens of the frozen prompt.
    frozen_tokens: u64,
    /// Those that stay, up to the last cache breakpoint.
    kept_tokens: u64,
    /// The tokens after that, messages included.
    rewritten_tokens: u64,
    /// Whether they are probably cached.
    warm: bool,
    /// The cost of writing them beyond a cache read, in US dollars: 0 if they are no longer cached, `null` if the price
    /// is unknown.
    cost_usd: Option<f64>,
}

/// Estimates what saving a template would cost, without storing it. Owner only, with `observe` or `admin`. Running
/// conversations keep their prompt until their next epoch, which is when the cost arises.
#[utoipa::path(post, path = "/api/v1/template/impact", tag = "template", request_body = TemplateToSave,
    responses((status = 200, body = ImpactBody), CommonErrors, BodyErrors))]
pub(crate) async fn estimate_impact(
    State(app): State<App>,
    caller: Caller,
    extract::Json(sent): extract::Json<TemplateToSave>,
) -> Result<Json<ImpactBody>, Problem> {
    owner_reads(&caller, &app.config())?;
    let template: Arc<str> = normalized(&sent.template).into();
    TemplateCheck::of(&template_view(&app.workspace.snapshot()), app.workspace.dir(), &template)?.usable()?;
    let changed = normalized(&current(&app).await?.template) != *template;
    let impact = app.agent.template_impact(template).await.map_err(draft_problem)?;
    Ok(Json(ImpactBody::of(changed, impact)))
}

impl ImpactBody {
    fn of(changed: bool, impact: TemplateImpact) -> Self {
        let TemplateImpact { conversations, max_checked, or_more, loss, changed: items } = impact;
        Self {
            changed,
            conversations,
            affected: loss.affected,
            cached_tokens: loss.cached_tokens,
            cost_usd: loss.cost.dollars(),
            unpriced: loss.unpriced,
            max_checked,
            or_more,
            items: items.into_iter().take(MAX_ITEMS).map(ChangedConversationBody::from).collect(),
        }
    }
}

impl From<ChangedConversation> for ChangedConversationBody {
    fn from(one: ChangedConversation) -> Self {
        Self {
            conversation: one.conversation.to_string(),
            title: one.title,
            agent: one.agent,
            model: one.model,
            frozen_tokens: one.frozen_tokens,
            kept_tokens: one.rewrite_cost.kept_tokens,
            rewritten_tokens: one.rewrite_cost.rewritten_tokens,
            warm: one.rewrite_cost.is_warm(),
            cost_usd: one.rewrite_cost.cost.known().map(Money::dollars),
        }
    }
}
