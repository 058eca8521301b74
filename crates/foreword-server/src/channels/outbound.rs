//! Sends answers to bridges. What is to be sent is found in the store and not remembered, so that it goes out whichever node
//! has answered, and after a crash too. Of several nodes one sends each answer at a time.

use std::time::Duration;

use foreword_core::event::{Event, EventType, Level};
use foreword_core::id::DeliveryId;
use foreword_prompt::occasion::Channel;
use foreword_store::changes::Change;
use foreword_store::deliveries::{ChannelAnswer, ClaimDeliveries, Delivery, NewDelivery, Sent};
use foreword_store::error::StoreError;
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;

use super::webhook::{self, Said};
use super::{backoff, webhook::PATIENCE};
use crate::app::App;

/// How far back answers are looked for that are not on their way: what is older is no answer any more.
const LOOK_BACK: Duration = Duration::from_secs(24 * 60 * 60);
/// The same for what failed, of which nobody wants to hear much later.
const LATELY: Duration = Duration::from_secs(10 * 60);
/// What whoever waits is told of that. Why it failed is the owner's to know.
const NO_ANSWER: &str = "Sorry, something went wrong and this was not answered. Please try again in a while.";
/// How many are taken at once.
const AT_ONCE: u64 = 16;
/// How long a node may take to send what it has claimed.
const LEASE: Duration = PATIENCE.saturating_mul(3);
/// How often it is looked, if nothing is heard.
const LOOK: Duration = Duration::from_secs(30);
/// How soon again after the store was away.
const STORE_AWAY: Duration = Duration::from_secs(2);

/// Sends answers to bridges for as long as the server lives.
pub(crate) async fn send_answers(app: App) {
    // Without a client there are no bridges; that happens only where there is no randomness.
    let Ok(client) = webhook::client() else { return };
    let mut changes = app.store.changes();
    loop {
        let pause = match look(&app, &client).await {
            Ok(pause) => pause,
            Err(_) => STORE_AWAY,
        };
        let wait = tokio::time::sleep(pause);
        tokio::pin!(wait);
        loop {
            tokio::select! {
                () = &mut wait => break,
                () = app.retry_deliveries.notified() => break,
                heard = changes.recv() => match heard {
                    Ok(Change::Conversation(_) | Change::Anything) | Err(RecvError::Lagged(_)) => break,
                    Ok(_) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        }
        // What was said in a row is looked at together.
        while changes.try_recv().is_ok() {}
    }
}

/// Notes what is new, sends what is due, and says how long nothing will be.
async fn look(app: &App, client: &reqwest::Client) -> Result<Duration, StoreError> {
    let families: Vec<String> = app.config().server.bridges.keys().map(ToString::to_string).collect();
    if families.is_empty() {
        return Ok(LOOK);
    }
    let since = (app.now().minus(LOOK_BACK), app.now().minus(LATELY));
    for answer in app.store.unsent_answers(families, since, AT_ONCE * 16).await? {
        note(app, answer).await?;
    }
    loop {
        let (node, now) = (app.node.clone(), app.now());
        let claim = ClaimDeliveries { node, lease: LEASE, limit: AT_ONCE, now };
        let claimed = app.store.claim_deliveries(claim).await?;
        if claimed.is_empty() {
            break;
        }
        let sending = claimed.into_iter().map(|delivery| send(app, client, delivery));
        futures_util::future::try_join_all(sending).await?;
    }
    let next = app.store.next_delivery().await?;
    // One that is claimed elsewhere may be due all the time: it is not asked for without a pause.
    Ok(next.map_or(LOOK, |due| due.since(app.now()).clamp(Duration::from_millis(100), LOOK)))
}

/// Notes that an answer is to be sent, if there is a bridge for it.
async fn note(app: &App, answer: ChannelAnswer) -> Result<(), StoreError> {
    let config = app.config();
    let family = Channel::new(&answer.channel).family().map(str::to_owned);
    let Some(family) = family.filter(|family| config.server.bridges.contains_key(family.as_str())) else {
        return Ok(());
    };
    // The same turn has the same name on every node, so that a bridge can tell what it has got before.
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
    let said = post(app, client, &delivery).await;
    let now = app.now();
    let sent = match said {
        Said::Taken => Sent::Taken,
        Said::Refused(error) => Sent::GivenUp { error },
        Said::Later { error, pause } => match backoff::pause(delivery.attempts, pause) {
            Some(pause) => Sent::Later { error, due_at: now.plus(pause) },
            None => Sent::GivenUp { error },
        },
    };
    if app.store.delivery_sent(&delivery.id, &app.node, sent.clone(), now).await? {
        log(app, &delivery, &sent);
    }
    Ok(())
}

async fn post(app: &App, client: &reqwest::Client, delivery: &Delivery) -> Said {
    let config = app.config();
    if delivery.body["text"].as_str().is_none_or(str::is_empty) {
        return Said::Refused("the turn has ended without a word".to_owned());
    }
    let Some(bridge) = config.server.bridges.get(delivery.family.as_str()) else {
        let error = format!("there is no `server.channels.{}` any more", delivery.family);
        return Said::Later { error, pause: None };
    };
    let Some(secret) = app.secrets.variable(&bridge.secret_env) else {
        let error = format!("`{}` is not set, and nothing goes out unsigned", bridge.secret_env);
        return Said::Later { error, pause: None };
    };
    webhook::post(client, (&bridge.webhook, &secret), delivery.body.to_string(), app.now()).await
}

/// What fails is told, and what works again after it has failed. That an answer was given, the turn has told already.
fn log(app: &App, delivery: &Delivery, sent: &Sent) {
    let (level, outcome, error) = match sent {
        Sent::Taken if delivery.attempts <= 1 => return,
        Sent::Taken => (Level::Info, "delivered", None),
        Sent::Later { error, .. } => (Level::Warn, "tried again", Some(error)),
        Sent::GivenUp { error } => (Level::Error, "given up", Some(error)),
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
