//! Delivers answers to bridges as webhooks, with retries and exponential backoff. Undelivered answers are found in the
//! store, so they are sent by any node
//! and after a crash. A lease ensures that one node sends each of them at a time.

use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::DeliveryId;
use foreword_prompt::occasion::Channel;
use foreword_store::changes::StoreChange;
use foreword_store::deliveries::{ChannelAnswer, ClaimDeliveries, Delivery, NewDelivery, SendOutcome};
use foreword_store::error::StoreError;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use super::webhook::{self, WebhookOutcome};
use super::{backoff, webhook::TIMEOUT};
use crate::app::App;

/// Older answers are not sent.
const MAX_ANSWER_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Older failures are not reported.
const MAX_FAILURE_AGE: Duration = Duration::from_secs(10 * 60);
/// The text for a failed turn. The cause is for the owner.
const NO_ANSWER: &str = "Sorry, something went wrong and this was not answered. Please try again later.";
const BATCH_SIZE: u64 = 16;
/// How long a node may take to send what it has claimed.
const LEASE: Duration = TIMEOUT.saturating_mul(3);
/// How often to check without a notification.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// The delay after a store failure.
const STORE_RETRY_DELAY: Duration = Duration::from_secs(2);

/// Delivers answers for as long as the server runs.
pub(crate) async fn send_answers(app: App) {
    // Creating the client only fails without a random number generator.
    let Ok(client) = webhook::client() else { return };
    let mut changes = app.store.changes();
    loop {
        let pause = match deliver_due(&app, &client).await {
            Ok(pause) => pause,
            Err(_) => STORE_RETRY_DELAY,
        };
        let wait = tokio::time::sleep(pause);
        tokio::pin!(wait);
        loop {
            tokio::select! {
                () = &mut wait => break,
                () = app.retry_deliveries.notified() => break,
                heard = changes.recv() => match heard {
                    Ok(StoreChange::Conversation(_) | StoreChange::Anything) | Err(RecvError::Lagged(_)) => break,
                    Ok(_) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        }
        // Coalesces notifications.
        while changes.try_recv().is_ok() {}
    }
}

/// Queues new answers, sends due deliveries, and returns the time until the next one.
async fn deliver_due(app: &App, client: &reqwest::Client) -> Result<Duration, StoreError> {
    let families: Vec<String> = app.config().server.bridges.keys().map(ToString::to_string).collect();
    if families.is_empty() {
        return Ok(POLL_INTERVAL);
    }
    let (since, failed_since) = (app.now().minus(MAX_ANSWER_AGE), app.now().minus(MAX_FAILURE_AGE));
    for answer in app.store.unsent_answers(families, since, failed_since, BATCH_SIZE * 16).await? {
        enqueue(app, answer).await?;
    }
    loop {
        let (node, now) = (app.node.clone(), app.now());
        let claim = ClaimDeliveries { node, lease: LEASE, limit: BATCH_SIZE, now };
        let claimed = app.store.claim_deliveries(claim).await?;
        if claimed.is_empty() {
            break;
        }
        let sending = claimed.into_iter().map(|delivery| send(app, client, delivery));
        futures_util::future::try_join_all(sending).await?;
    }
    let next = app.store.next_delivery().await?;
    // A delivery claimed by another node may be due all the time, so there is a minimum pause.
    Ok(next
        .map_or(POLL_INTERVAL, |due| due.since(app.now()).clamp(Duration::from_millis(100), POLL_INTERVAL)))
}

/// Queues a delivery, if there is a bridge for the answer.
async fn enqueue(app: &App, answer: ChannelAnswer) -> Result<(), StoreError> {
    let config = app.config();
    let family = Channel::new(&answer.channel).family().map(str::to_owned);
    let Some(family) = family.filter(|family| config.server.bridges.contains_key(family.as_str())) else {
        return Ok(());
    };
    // The id is derived from the turn, so that a bridge can recognise duplicates.
    let Ok(id) = DeliveryId::new(format!("d-{}", answer.turn)) else { return Ok(()) };
    let body = json!({
        "id": id.as_str(),
        "channel": answer.channel,
        "conversation": answer.conversation.as_str(),
        "inReplyTo": answer.in_reply_to.as_ref().map(|message| message.as_str()),
        "outcome": if answer.is_answered { "done" } else { "failed" },
        "text": if answer.is_answered { answer.text.as_str() } else { NO_ANSWER },
        "at": answer.at.to_string(),
    });
    let ChannelAnswer { turn, conversation, channel, in_reply_to, .. } = answer;
    let at = app.now();
    let new = NewDelivery { id, family, channel, conversation, turn, in_reply_to, body, at };
    app.store.add_delivery(new).await.map(|_| ())
}

async fn send(app: &App, client: &reqwest::Client, delivery: Delivery) -> Result<(), StoreError> {
    let outcome = post(app, client, &delivery).await;
    let now = app.now();
    let sent = match outcome {
        WebhookOutcome::Delivered => SendOutcome::Taken,
        WebhookOutcome::Rejected(error) => SendOutcome::GivenUp { error },
        WebhookOutcome::Retry { error, pause } => match backoff::pause(delivery.attempts, pause) {
            Some(pause) => SendOutcome::Later { error, due_at: now.plus(pause) },
            None => SendOutcome::GivenUp { error },
        },
    };
    if app.store.delivery_sent(&delivery.id, &app.node, sent.clone(), now).await? {
        log(app, &delivery, &sent);
    }
    Ok(())
}

async fn post(app: &App, client: &reqwest::Client, delivery: &Delivery) -> WebhookOutcome {
    let config = app.config();
    if delivery.body["text"].as_str().is_none_or(str::is_empty) {
        return WebhookOutcome::Rejected("the turn has ended without an answer".to_owned());
    }
    let Some(bridge) = config.server.bridges.get(delivery.family.as_str()) else {
        let error = format!("`server.channels.{}` is no longer configured", delivery.family);
        return WebhookOutcome::Retry { error, pause: None };
    };
    let Some(secret) = app.secrets.variable(&bridge.secret_env) else {
        let error = format!("`{}` is not set, so the webhook can't be signed", bridge.secret_env);
        return WebhookOutcome::Retry { error, pause: None };
    };
    webhook::post(client, &bridge.webhook, &secret, delivery.body.to_string(), app.now()).await
}

/// Logs failures, and successes after a failure. The answer itself is logged by the turn.
fn log(app: &App, delivery: &Delivery, sent: &SendOutcome) {
    let (level, outcome, error) = match sent {
        SendOutcome::Taken if delivery.attempts <= 1 => return,
        SendOutcome::Taken => (Level::Info, "delivered", None),
        SendOutcome::Later { error, .. } => (Level::Warn, "tried again", Some(error)),
        SendOutcome::GivenUp { error } => (Level::Error, "given up", Some(error)),
    };
    app.recorder.record(Event {
        level,
        session_id: Some(delivery.conversation.clone()),
        turn_id: delivery.turn.clone(),
        channel: Some(delivery.channel.as_str().into()),
        error: error.cloned(),
        metadata: Some(json!({
            "delivery": delivery.id.as_str(),
            "attempts": delivery.attempts,
            "outcome": outcome,
        })),
        ..Event::new(EventType::ChannelError, app.now())
    });
}
