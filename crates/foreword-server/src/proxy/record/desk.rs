//! The task that writes down what passed: prices it, finds its conversation and compares it. What has to last is noted in
//! `unwritten`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use foreword_agent::agent::Agent;
use foreword_agent::cache_miss::{self, News};
use foreword_agent::surroundings::Surroundings;
use foreword_core::allowance;
use foreword_core::cache::{ChainKey, RequestShape};
use foreword_core::id::ConversationId;
use foreword_core::models::ModelFacts;
use foreword_core::money::{Money, Price};
use foreword_observe::recorder::Recorder;
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use foreword_workspace::workspace::Workspace;
use serde_json::Map;
use tokio::sync::{OnceCell, oneshot};
use tokio::time::Instant;

use super::compare::{Answered, Before};
use super::entries::{Entry, failure};
use super::estimate;
use super::inbox::Waiting;
use super::shape::Request;
use super::shapes::{Last, Shapes};
use super::threads::{self, Threads};
use super::unwritten::Unwritten;
use crate::app::App;
use crate::auth::limits::Limits;
use crate::proxy::exchange::{Exchange, Payer};

/// How many bytes of requests may wait to be looked at.
const MOST_WAITING: usize = 64 * 1024 * 1024;
/// How many bytes are looked at before others get their turn.
const AT_A_STRETCH: usize = 1024 * 1024;
/// How many lines of earlier days are brought in.
const RECALLED: u32 = 4_096;

pub(super) enum Work {
    Note(Box<Exchange>),
    Flush(oneshot::Sender<()>),
}

/// What hashes are made with.
pub(super) struct Keys {
    pub(super) chain: ChainKey,
}

/// What is shared by those who bring requests and the task that writes them down.
pub(super) struct Desk {
    agent: Agent,
    limits: Arc<Limits>,
    store: Store,
    recorder: Recorder,
    workspace: Arc<Workspace>,
    surroundings: Arc<dyn Surroundings>,
    keys: OnceCell<Keys>,
    pub(super) threads: Threads,
    /// How many bytes wait.
    waiting: AtomicUsize,
    /// How many were not looked at, and nobody has been told.
    lost: AtomicU64,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl Desk {
    pub(super) fn new(app: &App) -> Self {
        Self {
            agent: app.agent.clone(),
            limits: Arc::clone(&app.limits),
            store: app.store.clone(),
            recorder: app.recorder.clone(),
            workspace: Arc::clone(&app.workspace),
            surroundings: Arc::clone(&app.surroundings),
            keys: OnceCell::new(),
            threads: Threads::default(),
            waiting: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// The keys. With them comes what was kept of earlier days.
    pub(super) async fn keys(&self) -> Result<&Keys, StoreError> {
        let read = || async {
            let shape = cache_miss::shape_key(&self.store, &*self.surroundings).await?;
            self.threads.recall(&self.store.recent_proxied(RECALLED).await?);
            Ok(Keys { chain: ChainKey::of(&shape) })
        };
        self.keys.get_or_try_init(read).await
    }

    /// Gives the exchange back if there is room for it.
    pub(super) fn make_room(&self, exchange: Exchange) -> Option<Exchange> {
        let size = exchange.request.len();
        if self.waiting.fetch_add(size, Ordering::Relaxed) + size <= MOST_WAITING {
            return Some(exchange);
        }
        self.not_looked_at(Work::Note(Box::new(exchange)));
        None
    }

    /// How many bytes wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Writes down what nobody has time to look at: what it cost counts all the same.
    pub(super) fn not_looked_at(&self, work: Work) {
        let Work::Note(exchange) = work else { return };
        self.waiting.fetch_sub(exchange.request.len(), Ordering::Relaxed);
        self.lost.fetch_add(1, Ordering::Relaxed);
        let config = self.config();
        let request = Request::read(exchange.dialect, &exchange.request);
        let model = named_model(&exchange, request.as_ref());
        let facts = facts(&config, &exchange, model.as_deref());
        self.write_down(&exchange, (exchange.conversation.as_ref(), model.as_deref()), (&config, facts));
    }

    fn write_down(
        &self,
        exchange: &Exchange,
        (conversation, model): (Option<&ConversationId>, Option<&str>),
        (config, facts): (&Config, Option<&ModelFacts>),
    ) {
        let price = estimate::price(exchange, facts);
        let entry = Entry { exchange, conversation, model, price, agent: &config.agent.name };
        entry.events().into_iter().for_each(|event| self.recorder.record(event));
        // Once it is on its way to the record.
        if let Some(cost) = price.known().filter(|cost| *cost > Money::ZERO) {
            if let Payer::Token { id, .. } = &exchange.payer {
                self.limits.spent(id, cost);
            }
            let session = conversation.map_or("", ConversationId::as_str);
            let payer = allowance::Payer { user: exchange.payer.user(), session, agent: &config.agent.name };
            if exchange.tapped.usage.is_some() {
                self.agent.count_spending(&payer, price);
            } else {
                self.agent.count_estimate(&payer, price);
            }
        }
    }

    fn config(&self) -> Arc<Config> {
        Arc::clone(&self.workspace.snapshot().config)
    }
}

/// The model a request is for, with its provider.
fn named_model(exchange: &Exchange, request: Option<&Request<'_>>) -> Option<String> {
    let named = request.and_then(Request::model);
    let model = named.as_deref().or(exchange.tapped.model.as_deref())?;
    Some(format!("{}/{model}", exchange.provider))
}

fn facts<'a>(config: &'a Config, exchange: &Exchange, model: Option<&str>) -> Option<&'a ModelFacts> {
    let answered = || exchange.tapped.model.as_ref().map(|model| format!("{}/{model}", exchange.provider));
    let named = model.and_then(|model| config.models.find(model));
    // A name that is nobody's may be another name of the one that answered.
    named.or_else(|| config.models.find(&answered()?))
}

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
        let request = request.filter(|_| exchange.route.is_turn());
        let joined = match &request {
            Some(request) => conversation(desk, exchange, request).await,
            None => None,
        };
        let id = joined.as_ref().map(|(id, _)| id);
        desk.write_down(exchange, (id, model.as_deref()), (&config, facts));
        let (Some(request), Some((id, is_new)), Some(model)) = (&request, &joined, &model) else { return };
        self.unwritten.note(id, exchange);
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
        if here.is_none() && !is_new {
            here = desk.store.last_request(conversation.as_str()).await?.and_then(Last::read).map(Arc::new);
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
    // A name that can't be one is as good as none: the request has been answered.
    let named = exchange.named.as_deref().and_then(|name| desk.threads.named(payer, name).ok());
    // What bears a name may have been there before it was remembered.
    let may_be_older = named.is_some();
    let joined = desk.threads.join(payer, chain, named, &*desk.surroundings).ok()?;
    Some((joined.conversation, joined.is_new && !may_be_older))
}
