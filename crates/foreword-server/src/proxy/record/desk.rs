//! Where what passed is brought to: prices it, finds its conversation and puts it into the log. What takes it from there, and
//! compares it, is in `hands`.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use foreword_agent::agent::Agent;
use foreword_agent::cache_miss;
use foreword_agent::surroundings::Surroundings;
use foreword_core::allowance;
use foreword_core::cache::{ChainKey, Link};
use foreword_core::id::{BadId, ConversationId};
use foreword_core::lines::RecentLines;
use foreword_core::models::ModelFacts;
use foreword_core::money::Money;
use foreword_observe::recorder::Recorder;
use foreword_store::error::StoreError;
use foreword_store::proxied::{ProxiedLine, is_passed_through};
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use foreword_workspace::workspace::Workspace;
use tokio::sync::{OnceCell, oneshot};

use super::entries::Entry;
use super::estimate;
use super::shape::Request;
use super::threads::{Joined, Threads};
use crate::app::App;
use crate::auth::limits::Limits;
use crate::proxy::exchange::{Exchange, Payer};

/// How many bytes of requests may wait to be looked at.
const MOST_WAITING: usize = 64 * 1024 * 1024;
/// How many lines of earlier days are brought in.
const RECALLED: u32 = 4_096;
/// How many of one payer's, where another node may have seen them.
const LOOKED_UP: u32 = 64;

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
    pub(super) store: Store,
    pub(super) recorder: Recorder,
    workspace: Arc<Workspace>,
    pub(super) surroundings: Arc<dyn Surroundings>,
    keys: OnceCell<Keys>,
    pub(super) threads: Threads,
    /// How many bytes wait.
    pub(super) waiting: AtomicUsize,
    /// How many were not looked at, and nobody has been told.
    pub(super) lost: AtomicU64,
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

    /// The conversation that a client names. One whose id it was told, here a while ago or by another node, is looked up.
    pub(super) async fn named(&self, payer: &str, name: &str) -> Result<ConversationId, BadId> {
        let told = ConversationId::new(name).ok().filter(is_passed_through);
        if let Some(id) = told.filter(|id| !self.threads.knows(payer, id))
            // A store that is away knows nothing.
            && let Ok(Some(line)) = self.store.proxied_line(payer, &id).await
        {
            self.threads.recall(&[line]);
        }
        self.threads.named(payer, name)
    }

    /// The conversation that a request goes on with. Where several nodes share a store, the last one may have been another's.
    pub(super) async fn join(
        &self,
        payer: &str,
        chain: Vec<Link>,
        named: Option<ConversationId>,
    ) -> Result<Joined, BadId> {
        if self.store.is_shared()
            && let Some(line) = self.seen_elsewhere(payer, &chain, named.as_ref()).await
        {
            self.threads.recall(&[line]);
        }
        self.threads.join(payer, chain, named, &*self.surroundings)
    }

    /// What another node has seen of the conversation, if nothing is known of it here. A store that is away knows nothing.
    async fn seen_elsewhere(
        &self,
        payer: &str,
        chain: &[Link],
        named: Option<&ConversationId>,
    ) -> Option<ProxiedLine> {
        if let Some(named) = named {
            let is_known = self.threads.knows(payer, named);
            return if is_known { None } else { self.store.proxied_line(payer, named).await.ok()? };
        }
        if self.threads.finds(payer, chain) {
            return None;
        }
        let mut lines = self.store.proxied_of(payer, LOOKED_UP).await.ok()?;
        let mut seen = RecentLines::default();
        lines.iter().rev().for_each(|line| seen.note(&line.conversation, Link::read(&line.chain)));
        let found = seen.find(chain)?;
        let at = lines.iter().position(|line| line.conversation == *found)?;
        Some(lines.swap_remove(at))
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
        let names = (exchange.conversation.as_ref(), model.as_deref());
        self.write_down(&exchange, names, (&config, facts.as_deref()));
    }

    pub(super) fn write_down(
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

    pub(super) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.workspace.snapshot().config)
    }
}

/// The model a request is for, with its provider.
pub(super) fn named_model(exchange: &Exchange, request: Option<&Request<'_>>) -> Option<String> {
    let named = request.and_then(Request::model);
    let model = named.as_deref().or(exchange.tapped.model.as_deref())?;
    Some(format!("{}/{model}", exchange.provider))
}

pub(super) fn facts<'a>(
    config: &'a Config,
    exchange: &Exchange,
    model: Option<&str>,
) -> Option<Cow<'a, ModelFacts>> {
    let answered = || exchange.tapped.model.as_ref().map(|model| format!("{}/{model}", exchange.provider));
    let named = model.and_then(|model| config.models.resolve(model));
    // A name that is nobody's may be another name of the one that answered.
    named.or_else(|| config.models.resolve(&answered()?))
}
