//! What is recorded of requests that pass: usage, cost and cache diagnosis, after the answer and off its way. Of what is said
//! nothing is kept but keyed hashes.

mod compare;
mod desk;
mod entries;
mod estimate;
mod hands;
mod inbox;
mod shape;
mod shapes;
mod slices;
mod tap;
mod threads;
mod unwritten;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use foreword_core::id::ConversationId;
use foreword_core::provider::WireDialect;
use foreword_store::conversations::NewConversation;
use foreword_store::proxied::PASSED_THROUGH;
use tokio::sync::oneshot;

pub(crate) use self::tap::{Tap, Tapped};

use self::desk::{Desk, Work};
use self::inbox::Inbox;
use self::shape::Request;
use super::body::RequestBody;
use super::exchange::{Exchange, Payer};
use crate::app::App;
use crate::problem::Problem;

/// How many requests may wait to be looked at.
const WAITING: usize = 4_096;
/// How long the end of a server waits for what is to be looked at.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whoever records. One for the whole server.
#[derive(Debug, Default)]
pub(crate) struct Recording(OnceLock<Open>);

#[derive(Debug)]
struct Open {
    desk: Arc<Desk>,
    work: Inbox<Work>,
}

impl Recording {
    /// Somebody who looks at an answer as it passes.
    pub(crate) fn tap(&self, dialect: WireDialect, is_stream: bool) -> Tap {
        Tap::new(dialect, is_stream)
    }

    /// Takes note of what passed. Never waits: if too many are to be looked at, this one is written down as it is.
    pub(crate) fn note(&self, app: &App, exchange: Exchange) {
        let Open { desk, work } = self.open(app);
        let Some(exchange) = desk.make_room(exchange) else { return };
        if let Err(work) = work.put(Work::Note(Box::new(exchange)), desk.waiting()) {
            desk.not_looked_at(work);
        }
    }

    /// The conversation a request goes on with: the one the client names, which is the payer's alone, else the one of the
    /// payer's that begins like it, else a new one, which is there when this returns.
    pub(crate) async fn thread(
        &self,
        app: &App,
        payer: &Payer,
        dialect: WireDialect,
        (body, named): (&RequestBody<'_>, Option<&str>),
    ) -> Result<ConversationId, Problem> {
        let desk = &self.open(app).desk;
        let keys = desk.keys().await?;
        let chain = threads::chain(&keys.chain, dialect, &Request::of(dialect, body.clone()));
        let bad_id = |error: foreword_core::id::BadId| Problem::bad_request("bad_id", error.to_string());
        let named = match named {
            Some(name) => Some(desk.named(payer.name(), name).await.map_err(bad_id)?),
            None => None,
        };
        let joined = desk.join(payer.name(), chain, named).await.map_err(bad_id)?;
        if joined.is_new {
            let agent = app.config().agent.name.to_string();
            let new = NewConversation {
                user: payer.user().map(str::to_owned),
                channel: Some(entries::channel(payer)),
                ..NewConversation::new(joined.conversation.clone(), agent, PASSED_THROUGH, app.now())
            };
            app.store.create_conversation(new).await?;
        }
        Ok(joined.conversation)
    }

    /// Writes down what is not written yet; waits for it, but not for a store that is away.
    pub(crate) async fn stop(&self) {
        let Some(Open { work, .. }) = self.0.get() else { return };
        let (done, settled) = oneshot::channel();
        let written = async {
            if work.put_at_once(Work::Flush(done)).await {
                // An error is a task that is gone.
                let _ = settled.await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, written).await;
    }

    fn open(&self, app: &App) -> &Open {
        self.0.get_or_init(|| {
            let (work, waiting) = inbox::inbox(WAITING);
            let desk = Arc::new(Desk::new(app));
            // A client that goes away while everything ends may be the first to be noted, where nothing can be begun.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(hands::work(Arc::clone(&desk), waiting));
            }
            Open { desk, work }
        })
    }
}
