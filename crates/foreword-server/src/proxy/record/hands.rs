//! The task that takes what passed from the desk: has it written down, and compares it with the request before it. What has to
//! last is noted in `unwritten`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use foreword_agent::cache_miss::{self, News};
use foreword_core::cache::RequestShape;
use foreword_core::id::ConversationId;
use foreword_core::money::Price;
use foreword_store::error::StoreError;
use foreword_workspace::config::Config;
use serde_json::Map;
use tokio::time::Instant;

use super::compare::{Answered, Before};
use super::desk::{Desk, Work, facts, named_model};
use super::entries::{Entry, failure};
use super::inbox::Waiting;
use super::shape::Request;
use super::shapes::{Last, Shapes};
use super::threads;
use super::unwritten::Unwritten;
use crate::proxy::exchange::Exchange;

/// How many bytes are looked at before others get their turn.
const AT_A_STRETCH: usize = 1024 * 1024;

/// Writes down what comes, until nobody can bring anything any more.
pub(super) async fn work(desk: Arc<Desk>, mut waiting: Waiting<Work>) {
    let (mut hands, mut taken) = (Hands::default(), Vec::new());
    loop {
        let more = waiting.take(hands.unwritten.due(), &mut taken).await;
        let mut looked_at = 0;
        for work in taken.drain(..) {
            match work {
                Work::Note(exchange) => {
                    let size = exchange.request.len();
                    desk.waiting.fetch_sub(size, Ordering::Relaxed);
                    hands.take(&desk, &exchange).await;
                    looked_at += size;
                }
                Work::Flush(done) => {
                    hands.write(&desk).await;
                    // An error is somebody who did not wait.
                    let _ = done.send(());
                }
            }
            if looked_at > AT_A_STRETCH {
                looked_at = 0;
                tokio::task::yield_now().await;
            }
        }
        if hands.unwritten.due().is_some_and(|due| due <= Instant::now()) {
            hands.write(&desk).await;
        }
        if !more {
            break;
        }
    }
    hands.write(&desk).await;
}

/// What the task remembers.
#[derive(Default)]
struct Hands {
    shapes: Shapes,
    news: News,
    unwritten: Unwritten,
}

/// The requests before one, as far as they are in memory.
struct Requests {
    /// In its conversation.
    here: Option<Arc<Last>>,
    /// In another, if there is none in its own.
    elsewhere: Option<Arc<Last>>,
}

impl Requests {
    fn any(&self) -> Option<&Last> {
        self.here.as_deref().or(self.elsewhere.as_deref())
    }
}

impl Hands {
    async fn take(&mut self, desk: &Desk, exchange: &Exchange) {
        let config = desk.config();
        let request = Request::read(exchange.dialect, &exchange.request);
        let model = named_model(exchange, request.as_ref());
        let facts = facts(&config, exchange, model.as_deref());
        let facts = facts.as_deref();
        let request = request.filter(|_| exchange.route.is_turn());
        let joined = match &request {
            Some(request) => conversation(desk, exchange, request).await,
            None => None,
        };
        let id = joined.as_ref().map(|(id, _)| id);
        desk.write_down(exchange, (id, model.as_deref()), (&config, facts));
        let (Some(request), Some((id, is_new)), Some(model)) = (&request, &joined, &model) else { return };
        self.unwritten.note(id, exchange, Unwritten::patience(&desk.store));
        // A request that failed left nothing in any cache.
        if failure(exchange).is_none()
            && let Ok(keys) = desk.keys().await
        {
            let known = self.known(exchange, id, model);
            let shape = request.shape(&keys.chain, model, known.any().map(|last| &last.shape));
            let answered = Answered { exchange, request, conversation: id, model, facts, shape: &shape };
            // A store that is away leaves a request without a reason, and nothing else.
            drop(self.compare(desk, &answered, (known, *is_new), &config).await);
            self.keep(exchange, id, shape);
        }
    }

    /// The request before this one.
    fn known(&self, exchange: &Exchange, id: &ConversationId, model: &str) -> Requests {
        let here = self.shapes.of(id);
        let is_first = here.is_none();
        let elsewhere = is_first.then(|| self.shapes.elsewhere(exchange.payer.name(), model));
        Requests { here, elsewhere: elsewhere.flatten() }
    }

    async fn compare(
        &mut self,
        desk: &Desk,
        answered: &Answered<'_>,
        (known, is_new): (Requests, bool),
        config: &Config,
    ) -> Result<(), StoreError> {
        let Answered { exchange, conversation, model, .. } = answered;
        let Requests { mut here, elsewhere } = known;
        // What is in memory may not be the last where others write too.
        if (here.is_none() && !is_new) || desk.store.is_shared() {
            let stored = desk.store.last_request(conversation.as_str()).await?.and_then(Last::read);
            let newer = stored.filter(|stored| here.as_ref().is_none_or(|here| stored.at > here.at));
            here = newer.map(Arc::new).or(here);
        }
        // One that was sent later has been answered first: nobody can tell what there was to read.
        if here.as_ref().is_some_and(|last| last.at > exchange.began) {
            return Ok(());
        }
        let before = match (&here, &elsewhere) {
            (Some(here), _) => Before::Here(here),
            (None, Some(elsewhere)) => Before::Elsewhere(elsewhere),
            (None, None) => Before::Nothing,
        };
        let Some(diagnosis) = answered.judge(&desk.store, before).await? else { return Ok(()) };
        if self.news.is_worth_telling(conversation, &diagnosis) {
            let mut more = Map::new();
            more.insert("requestId".to_owned(), exchange.request_id.as_str().into());
            if matches!(before, Before::Elsewhere(_)) {
                more.insert("compared_with".to_owned(), "another conversation".into());
            }
            let (conversation, model) = (Some(*conversation), Some(*model));
            let agent = &config.agent.name;
            let entry = Entry { exchange, conversation, model, price: Price::Unknown, agent };
            let event = cache_miss::event(&diagnosis, answered.model, exchange.began, more);
            desk.recorder.record(entry.on(event));
        }
        Ok(())
    }

    fn keep(&mut self, exchange: &Exchange, id: &ConversationId, shape: RequestShape) {
        if self.shapes.of(id).is_some_and(|last| last.at > exchange.began) {
            return;
        }
        let last = Last {
            shape,
            at: exchange.began,
            epoch: exchange.epoch,
            usage: exchange.tapped.usage,
            answer_id: exchange.tapped.answer_id.clone(),
        };
        self.shapes.keep(exchange.payer.name(), id, last);
    }

    /// Writes what has to last, and tells of what nobody had time for.
    async fn write(&mut self, desk: &Desk) {
        let lost = desk.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            desk.recorder.record(cache_miss::not_looked_at(lost, desk.surroundings.timestamp()));
        }
        let agent = &desk.config().agent.name;
        self.unwritten.write(&desk.store, (&desk.threads, &self.shapes), agent).await;
    }
}

/// The conversation of a request, and whether nothing was known of it before.
async fn conversation(
    desk: &Desk,
    exchange: &Exchange,
    request: &Request<'_>,
) -> Option<(ConversationId, bool)> {
    if let Some(decided) = &exchange.conversation {
        return Some((decided.clone(), false));
    }
    let keys = desk.keys().await.ok()?;
    let payer = exchange.payer.name();
    let chain = threads::chain(&keys.chain, exchange.dialect, request);
    let named = match exchange.named.as_deref() {
        // A name that can't be one is as good as none: the request has been answered.
        Some(name) => desk.named(payer, name).await.ok(),
        None => None,
    };
    // What bears a name may have been there before it was remembered.
    let may_be_older = named.is_some();
    let joined = desk.join(payer, chain, named).await.ok()?;
    Some((joined.conversation, joined.is_new && !may_be_older))
}
