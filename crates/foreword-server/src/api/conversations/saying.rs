//! Saying something: taken in for good before the client hears of it, answered once, however often it is sent under one key.

use std::time::Duration;

use axum::Json;
use axum::extract::{Extension, State};
use axum::response::{IntoResponse as _, Response};
use foreword_agent::agent::Receipt;
use foreword_agent::feed::Progress;
use foreword_agent::inbound::{Inbound, Occasion};
use foreword_core::api_token::Scope;
use foreword_core::id::TurnId;
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_prompt::trust::Trust;
use foreword_store::messages::IdempotencyKey;
use foreword_store::turns::Answer;
use http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, timeout};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::UsageBody;
use crate::api::extract::{self, Path, Query};
use crate::api::permission::conversation_id;
use crate::api::refusals::{Clashes, NotThere, Refusals};
use crate::app::App;
use crate::auth::credential::Credential;
use crate::auth::{Asserted, Caller, Onlooker, Seen, may_see_as, turn_in_hand};
use crate::live::{LONGEST_KEY, OpenQuestion, WAITING_FOR_APPROVAL, listen, open_question};
use crate::problem::Problem;
use crate::request_id::RequestId;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often is looked whether another node has answered.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long is waited to hear what an answer took, once it is there.
const A_MOMENT: Duration = Duration::from_secs(1);

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(say))
}

/// Something to say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewMessage {
    /// The words.
    #[schema(example = "What is for dinner?")]
    text: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SayQuery {
    /// Whether to wait for the answer. Default: yes.
    wait: Option<bool>,
}

/// What became of a message.
#[derive(Debug, Serialize, ToSchema)]
struct Said {
    /// The conversation.
    conversation: String,
    /// The message.
    message: String,
    /// Whether it had been sent before, under the same key.
    before: bool,
    /// The turn that answers it, once there is one.
    turn: Option<String>,
    /// How it ended: `done`, `failed`, `cancelled` or `interrupted`; `null` as long as it has not. `waiting_for_approval` if
    /// it has not and the owner is asked first: send the message again under the same `Idempotency-Key` to wait on, or follow
    /// the conversation's stream.
    #[schema(example = "done")]
    outcome: Option<&'static str>,
    /// The id of the question that the owner is asked, with `waiting_for_approval`; an `answer` names it as `callId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    /// The answer.
    text: Option<String>,
    /// The code of the failure, as in the stream's `error`.
    #[schema(example = "config_error")]
    error_code: Option<&'static str>,
    /// Why it failed: the cause for the owner, a general sentence for everybody else.
    error: Option<String>,
    /// What it took; `null` if another process has answered.
    usage: Option<UsageBody>,
    /// What that cost, in US dollars; `null` if nobody knows.
    #[schema(value_type = Option<f64>)]
    cost: Option<Price>,
}

/// Says something. Waits for the answer, or with `wait=false` only until the message is taken in for good. With
/// `Accept: text/event-stream` what happens is streamed until it is answered. If the turn waits for the owner's approval, the
/// response ends with the outcome `waiting_for_approval` and the question's id. With `chat`.
#[utoipa::path(post, path = "/api/v1/conversations/{id}/messages", tag = "conversations", request_body = NewMessage,
    params(("id" = String, Path, description = "The conversation."), SayQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "Sent twice under one key, answered once."),
        ("x-foreword-user" = Option<String>, Header, description = "Who says it; only with the scope `assert`."),
        ("x-foreword-channel" = Option<String>, Header, description = "Where; only with the scope `assert`."),
        ("x-foreword-situation" = Option<String>, Header, description = "The situation; only with the scope `assert`.")),
    responses((status = 200, description = "It is answered, or with `Accept: text/event-stream` the events up to the answer.",
            content((Said = "application/json"), (String = "text/event-stream"))),
        (status = 202, description = "It is taken in, and going to be answered; the owner may be asked for approval first.",
            body = Said),
        Refusals, NotThere, Clashes))]
async fn say(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    head: (Query<SayQuery>, HeaderMap, Extension<RequestId>, Extension<Credential>),
    extract::Json(new): extract::Json<NewMessage>,
) -> Result<Response, Problem> {
    let (Query(query), headers, Extension(request), Extension(credential)) = head;
    caller.needs(Scope::Chat)?;
    let Spoken { seen, who, occasion } = Spoken::of(&app, &caller, &id, &headers).await?;
    let (key, reader) = (key(&caller, &headers)?, who.trust());
    // Whoever looks on begins before anything happens.
    let stream = if wants_stream(&headers) { Some(listen(&app, who, (&seen, None)).await?) } else { None };
    let inbound = Inbound { conversation: seen.conversation.id.clone(), occasion, text: new.text, key };
    let admitted = app.limits.begin_turn(caller.api_token(), &app.config().server.limits)?;
    let receipt = Box::pin(app.agent.send_for(inbound, Some(&request.0))).await;
    let receipt = receipt.map_err(|error| Problem::told(error, reader))?;
    turn_in_hand::keep(&app, admitted, &receipt);
    if let Some(stream) = stream {
        let message = receipt.message.message.id.clone();
        return Ok(stream.until_answered((message, receipt.before), credential));
    }
    let wait = query.wait.unwrap_or(true);
    let said = answered(&app, receipt, if wait { PATIENCE } else { Duration::ZERO }, reader).await?;
    let is_over = said.outcome.is_some() && said.question.is_none();
    let status = if is_over && wait { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(said)).into_response())
}

/// Somebody who speaks in a conversation that they may see.
pub(super) struct Spoken {
    pub(super) seen: Seen,
    /// They, or whom they speak for.
    pub(super) who: Onlooker,
    pub(super) occasion: Occasion,
}

impl Spoken {
    pub(super) async fn of(
        app: &App,
        caller: &Caller,
        id: &str,
        headers: &HeaderMap,
    ) -> Result<Self, Problem> {
        let (config, asserted) = (app.config(), Asserted::of(headers)?);
        let mut occasion = caller.occasion(&asserted, &config)?;
        let who = if asserted.is_empty() {
            Onlooker::caller(caller, &config)
        } else {
            Onlooker::speaker(&occasion, &config)
        };
        let seen = may_see_as(app, &who, &conversation_id(id)?).await?;
        // What is said in a group is heard by the group, whichever way it came.
        if occasion.situation.is_none() {
            occasion.situation = Some(seen.conversation.situation.as_str().into());
        }
        Ok(Self { seen, who, occasion })
    }
}

fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|one| {
        one.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
    })
}

/// What the client calls this message.
pub(in crate::api) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().ok().filter(|key| (1..=LONGEST_KEY).contains(&key.len()));
    key.map(|key| Some(key.to_owned())).ok_or_else(|| {
        let detail = format!("`Idempotency-Key` has 1 to {LONGEST_KEY} characters of ASCII");
        Problem::bad_request("bad_header", detail)
    })
}

fn key(caller: &Caller, headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Problem> {
    let key = idempotency_key(headers)?;
    Ok(key.map(|key| IdempotencyKey { scope: format!("http:{}", caller.user()), key }))
}

/// What became of the message, waiting so long for it.
async fn answered(app: &App, receipt: Receipt, patience: Duration, reader: Trust) -> Result<Said, Problem> {
    let mut until = Instant::now() + patience;
    let (mut from, mut is_stopping) = (receipt.from, false);
    let mut ends: Vec<(TurnId, Usage, Price)> = Vec::new();
    loop {
        let answer = app.store.answer_to(&receipt.message.message.id).await?;
        let ended = answer.as_ref().filter(|answer| answer.turn.state != TurnState::Running);
        let spent = ended.and_then(|answer| ends.iter().find(|(turn, ..)| *turn == answer.turn.id));
        let spent = spent.map(|(_, usage, cost)| (*usage, *cost));
        if let Some(ended) = ended {
            let was_here = ended.turn.holder == app.node && !receipt.before;
            // How it ended is stored a moment before it is told.
            until = until
                .min(Instant::now() + if was_here && spent.is_none() { A_MOMENT } else { Duration::ZERO });
        }
        if app.is_stopping() && !is_stopping {
            is_stopping = true;
            // The turn may end while the server does; else whoever runs next goes on with it.
            until = until.min(Instant::now() + app.config().server.drain.saturating_sub(LOOK_EVERY));
        }
        if Instant::now() >= until {
            return Ok(told(&receipt, answer, spent, reader));
        }
        // The owner may take minutes to answer, or never do: the client hears of it now.
        let elsewhere = answer.as_ref().is_none_or(|answer| answer.turn.holder != app.node);
        if ended.is_none()
            && (elsewhere || receipt.feed.open_question().is_some())
            && let Some(question) = open_question(app, &receipt.message.message.conversation).await?
        {
            return Ok(waiting(&receipt, answer, question, reader));
        }
        // What happens here is heard at once; what another node does is looked for.
        if let Ok(batch) = timeout(LOOK_EVERY, receipt.feed.read(from)).await {
            from = batch.next;
            ends.extend(batch.items.iter().filter_map(|item| match &**item {
                Progress::TurnEnded { turn, usage, cost, .. } => Some((turn.clone(), *usage, *cost)),
                _ => None,
            }));
        }
    }
}

/// What is told of a message whose turn, or the one it is queued behind, waits for the owner's approval.
fn waiting(receipt: &Receipt, answer: Option<Answer>, question: OpenQuestion, reader: Trust) -> Said {
    Said {
        turn: answer.map(|answer| answer.turn.id.to_string()),
        outcome: Some(WAITING_FOR_APPROVAL),
        question: Some(question.id),
        ..told(receipt, None, None, reader)
    }
}

fn told(receipt: &Receipt, answer: Option<Answer>, spent: Option<(Usage, Price)>, reader: Trust) -> Said {
    let message = &receipt.message.message;
    let outcome = answer.as_ref().and_then(|answer| match answer.turn.state {
        TurnState::Running => None,
        TurnState::Ended(Outcome::Done) => Some("done"),
        TurnState::Ended(Outcome::Failed) => Some("failed"),
        TurnState::Ended(Outcome::Cancelled) => Some("cancelled"),
        TurnState::Interrupted => Some("interrupted"),
    });
    let ended = answer.filter(|_| outcome.is_some());
    let failure = ended
        .as_ref()
        .and_then(|answer| Some(answer.turn.failure.as_ref()?.shown_at(reader, answer.turn.id.as_str())));
    Said {
        conversation: message.conversation.to_string(),
        message: message.id.to_string(),
        before: receipt.before,
        turn: ended.as_ref().map(|answer| answer.turn.id.to_string()),
        outcome,
        question: None,
        text: ended.as_ref().map(|answer| answer.text.clone()),
        error_code: failure.as_ref().map(|failure| failure.code.as_str()),
        error: failure.map(|failure| failure.message),
        usage: spent.map(|(usage, _)| usage.into()),
        cost: spent.map(|(_, cost)| cost),
    }
}
