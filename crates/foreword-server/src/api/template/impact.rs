//! What saving a template would cost the conversations that go on.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use foreword_agent::template_impact::{TemplateImpact, TouchedConversation};
use foreword_core::money::Money;
use foreword_workspace::template_problems::template_view;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::current;
use super::looked_over::{LookedOver, as_kept, tried_by_owner};
use crate::api::extract;
use crate::api::permission::owner_reads;
use crate::api::refusals::{Clashes, Refusals};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

/// How many conversations are listed.
const LISTED: usize = 50;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(impact))
}

/// A template that somebody thinks of saving.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TemplateToSave {
    /// The template itself.
    template: String,
}

/// What saving a template would cost at the next epoch of the conversations that go on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TemplateImpact)]
struct ImpactBody {
    /// Whether it is another text than the one in force.
    changed: bool,
    /// How many conversations have a prompt made from the template, of those that were looked at.
    conversations: usize,
    /// How many of them would read differently.
    touched: u64,
    /// Tokens that are likely in a provider's cache now and would have to be written anew.
    cached_tokens: u64,
    /// What that costs more than reading them would, in US dollars, as far as prices are known.
    cost_usd: f64,
    /// How many of the touched conversations have no known price, and are not in the sum.
    unpriced: u64,
    /// How many conversations were looked at, at most: those that were active last.
    looked_at: usize,
    /// Whether there are more.
    or_more: bool,
    /// Those that would read differently, the dearest first; 50 at most.
    items: Vec<TouchedBody>,
}

/// A conversation whose prompt would read differently.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TouchedConversation)]
struct TouchedBody {
    /// Its id.
    conversation: String,
    /// A name for people.
    title: Option<String>,
    /// The agent that talks in it.
    agent: String,
    /// The model it is talked with.
    model: String,
    /// What its frozen prompt weighs.
    frozen_tokens: u64,
    /// How much of that stays, up to the last place that is cached.
    kept_tokens: u64,
    /// What comes behind that, with what was said since.
    touched_tokens: u64,
    /// Whether the provider likely has it in its cache now.
    warm: bool,
    /// What writing it anew costs more than reading it would, in US dollars: nothing if it is not in the cache any more, `null`
    /// if the price is not known.
    cost_usd: Option<f64>,
}

/// What saving a template would cost. For the owner, with `observe` or `admin`; nothing is stored. Conversations go on with the
/// prompt they have until their next epoch: that is when it costs.
#[utoipa::path(post, path = "/api/v1/template/impact", tag = "template", request_body = TemplateToSave,
    responses((status = 200, body = ImpactBody), Refusals, Clashes))]
async fn impact(
    State(app): State<App>,
    caller: Caller,
    extract::Json(sent): extract::Json<TemplateToSave>,
) -> Result<Json<ImpactBody>, Problem> {
    owner_reads(&caller, &app.config())?;
    let template: Arc<str> = as_kept(&sent.template).into();
    LookedOver::of(&template_view(&app.workspace.snapshot()), app.workspace.place(), &template)?.usable()?;
    let changed = as_kept(&current(&app).await?.template) != *template;
    let impact = app.agent.template_impact(template).await.map_err(tried_by_owner)?;
    Ok(Json(ImpactBody::of(changed, impact)))
}

impl ImpactBody {
    fn of(changed: bool, impact: TemplateImpact) -> Self {
        let TemplateImpact { conversations, looked_at, or_more, loss, touched } = impact;
        Self {
            changed,
            conversations,
            touched: loss.touched,
            cached_tokens: loss.cached_tokens,
            cost_usd: loss.cost.dollars(),
            unpriced: loss.unpriced,
            looked_at,
            or_more,
            items: touched.into_iter().take(LISTED).map(TouchedBody::from).collect(),
        }
    }
}

impl From<TouchedConversation> for TouchedBody {
    fn from(one: TouchedConversation) -> Self {
        Self {
            conversation: one.conversation.to_string(),
            title: one.title,
            agent: one.agent,
            model: one.model,
            frozen_tokens: one.frozen_tokens,
            kept_tokens: one.rewritten.kept_tokens,
            touched_tokens: one.rewritten.touched_tokens,
            warm: one.rewritten.is_warm(),
            cost_usd: one.rewritten.cost.known().map(Money::dollars),
        }
    }
}
