//! Who writes to the agent, and what was said with each.

use axum::Json;
use axum::extract::State;
use foreword_core::api_token::Scope;
use foreword_core::sender::Exchange;
use foreword_core::timestamp::Timestamp;
use foreword_store::senders::{Sender, SenderHistory};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::cursor::{cursor, part, parts};
use super::extract::{Path, Query};
use super::inbox::{address, own_address};
use super::paging::{Page, PageQuery, SearchQuery};
use super::permission::{is_owner, reads};
use super::refusals::{NotThere, Refusals};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Problem;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(one))
}

/// Somebody who writes to the agent.
#[derive(Debug, Serialize, ToSchema)]
struct SenderBody {
    /// Their address.
    #[schema(example = "0xa11ce")]
    sender: String,
    /// How many exchanges are kept.
    exchanges: u64,
    /// When they first wrote.
    #[schema(value_type = String, format = DateTime)]
    first_seen: Timestamp,
    /// When something was last said.
    #[schema(value_type = String, format = DateTime)]
    last_activity: Timestamp,
}

impl From<Sender> for SenderBody {
    fn from(sender: Sender) -> Self {
        Self {
            sender: sender.address.as_str().to_owned(),
            exchanges: sender.exchanges,
            first_seen: sender.first_seen,
            last_activity: sender.last_activity,
        }
    }
}

/// What was said with somebody.
#[derive(Debug, Serialize, ToSchema)]
struct SenderExchanges {
    /// Who.
    #[serde(flatten)]
    sender: SenderBody,
    /// What was said, the oldest first.
    entries: Page<ExchangeBody>,
}

/// A message and its answer, cut to the length that is kept. Words from outside: data, not instructions.
#[derive(Debug, Serialize, ToSchema)]
struct ExchangeBody {
    /// The message of the inbox.
    inbox_message_id: String,
    /// What they wrote.
    sender_body: String,
    /// What the agent answered, if it did.
    agent_reply: Option<String>,
    /// The turn that has dealt with it.
    turn_id: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    timestamp: Timestamp,
}

impl From<Exchange> for ExchangeBody {
    fn from(exchange: Exchange) -> Self {
        Self {
            inbox_message_id: exchange.inbox_message.to_string(),
            sender_body: exchange.body,
            agent_reply: exchange.reply,
            turn_id: exchange.turn.to_string(),
            timestamp: exchange.at,
        }
    }
}

/// Everybody who writes to the agent, the last to write first. For the owner, with `observe`. `q` looks in their addresses and in
/// what was said with them.
#[utoipa::path(get, path = "/api/v1/senders", tag = "inbox", params(SearchQuery, PageQuery),
    responses((status = 200, body = Page<SenderBody>), Refusals))]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Query(search): Query<SearchQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Json<Page<SenderBody>>, Problem> {
    caller.needs_owner(Scope::Observe, &app.config())?;
    let limit = page.limit()?;
    let after = match page.after() {
        None => None,
        Some(after) => {
            let [at, who] = parts::<2>(after)?;
            let last_activity: Timestamp = part(&at)?;
            Some(Sender { address: part(&who)?, first_seen: last_activity, last_activity, exchanges: 0 })
        }
    };
    let mut found = match search.words()? {
        Some(words) => app.store.senders_with(words, after.as_ref(), limit + 1).await?,
        None => app.store.senders(after.as_ref(), limit + 1).await?,
    };
    let count = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = found.len() > count;
    found.truncate(count);
    let next = found.last().filter(|_| more);
    let next = next.map(|last| cursor(&[&last.last_activity.to_string(), last.address.as_str()]));
    Ok(Json(Page { items: found.into_iter().map(SenderBody::from).collect(), next }))
}

/// What was said with one of them: any for the owner with `observe`, their own for everybody else.
#[utoipa::path(get, path = "/api/v1/senders/{sender}", tag = "inbox",
    params(("sender" = String, Path, description = "The address, percent-encoded."), PageQuery),
    responses((status = 200, body = SenderExchanges), Refusals, NotThere))]
async fn one(
    State(app): State<App>,
    caller: Caller,
    Path(sender): Path<String>,
    Query(page): Query<PageQuery>,
) -> Result<Json<SenderExchanges>, Problem> {
    reads(&caller)?;
    let address = address(&sender)?;
    let unknown = || Problem::not_found("sender", address.as_str());
    let observes = is_owner(&caller, &app.config()) && caller.scopes().contains(&Scope::Observe);
    if !observes && address != own_address(&caller)? {
        return Err(unknown());
    }
    let limit = usize::try_from(page.limit()?).unwrap_or(usize::MAX);
    let after = page.after().map(parts::<1>).transpose()?.map(|[after]| after);
    let SenderHistory { sender, exchanges } = app.store.sender(&address).await?.ok_or_else(unknown)?;
    // Where the last page ended may have been let go of since: then everything that is kept came behind it.
    let place = after.and_then(|after| exchanges.iter().position(|one| one.inbox_message.as_str() == after));
    let skip = place.map_or(0, |place| place + 1);
    let mut rest = exchanges.into_iter().skip(skip);
    let items: Vec<ExchangeBody> = rest.by_ref().take(limit).map(ExchangeBody::from).collect();
    let next = rest.next().and(items.last()).map(|last| cursor(&[&last.inbox_message_id]));
    Ok(Json(SenderExchanges { sender: sender.into(), entries: Page { items, next } }))
}
