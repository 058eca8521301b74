//! Prices an exchange, finds its conversation and logs it. `recorder_worker` takes it from there and diagnoses cache
//! misses.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use foreword_agent::agent::Agent;
use foreword_agent::clock_and_rng::ClockAndRng;
use foreword_agent::spending::CostSource;
use foreword_agent::turn::cache_miss_event;
use foreword_core::budget_rule::Spender;
use foreword_core::cache::{ChainKey, Link};
use foreword_core::conversation_matcher::ConversationMatcher;
use foreword_core::id::{BadId, ConversationId};
use foreword_core::models::ModelFacts;
use foreword_core::money::Money;
use foreword_observe::recorder::Recorder;
use foreword_store::error::StoreError;
use foreword_store::proxied::{ProxiedConversation, is_proxied};
use foreword_store::store::Store;
use foreword_workspace::config::Config;
use foreword_workspace::workspace::Workspace;
use tokio::sync::{OnceCell, oneshot};

use super::entries::Entry;
use super::estimate;
use super::shape::ParsedRequest;
use super::threads::{Joined, Threads};
use crate::app::App;
use crate::proxy::exchange::{Exchange, Payer};

/// The maximum size of all queued requests.
const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;
/// The number of conversations loaded from the store at the start.
const MAX_LOADED_CONVERSATIONS: u32 = 4_096;
/// The number of a payer's conversations to search, when another node may have served them.
const MAX_LOOKUP_CONVERSATIONS: u32 = 64;

pub(super) enum Work {
    Note(Box<Exchange>),
    Flush(oneshot::Sender<()>),
}

/// The keys for hashes.
pub(super) struct Keys {
    pub(super) chain: ChainKey,
}

/// The state shared by the connections and the recorder task.
pub(super) struct ExchangeRecorder {
    agent: Agent,
    pub(super) store: Store,
    pub(super) recorder: Recorder,
    workspace: Arc<Workspace>,
    pub(super) clock_and_rng: Arc<dyn ClockAndRng>,
    keys: OnceCell<Keys>,
    pub(super) threads: Threads,
    pub(super) queued_bytes: AtomicUsize,
    /// The number of exchanges not diagnosed, since the last report.
    pub(super) undiagnosed: AtomicU64,
}

impl fmt::Debug for ExchangeRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExchangeRecorder").finish_non_exhaustive()
    }
}

impl ExchangeRecorder {
    pub(super) fn new(app: &App) -> Self {
        Self {
            agent: app.agent.clone(),
            store: app.store.clone(),
            recorder: app.recorder.clone(),
            workspace: Arc::clone(&app.workspace),
            clock_and_rng: Arc::clone(&app.clock_and_rng),
            keys: OnceCell::new(),
            threads: Threads::default(),
            queued_bytes: AtomicUsize::new(0),
            undiagnosed: AtomicU64::new(0),
        }
    }

    /// The keys. The first call also loads recent conversations.
    pub(super) async fn keys(&self) -> Result<&Keys, StoreError> {
        let read = || async {
            let shape = cache_miss_event::shape_key(&self.store, &*self.clock_and_rng).await?;
            self.threads.load(&self.store.recent_proxied(MAX_LOADED_CONVERSATIONS).await?);
            Ok(Keys { chain: ChainKey::of(&shape) })
        };
        self.keys.get_or_try_init(read).await
    }

    /// The conversation named by a client. Looks up an id that was assigned long ago or by another node.
    pub(super) async fn named(&self, payer: &str, name: &str) -> Result<ConversationId, BadId> {
        let known = ConversationId::new(name).ok().filter(is_proxied);
        if let Some(id) = known.filter(|id| !self.threads.contains(payer, id))
            // If the store fails, the conversation counts as unknown.
            && let Ok(Some(line)) = self.store.proxied_line(payer, &id).await
        {
            self.threads.load(&[line]);
        }
        self.threads.named(payer, name)
    }

    /// The conversation that a request continues. In a shared store another node may have served its last request.
    pub(super) async fn join(
        &self,
        payer: &str,
        chain: Vec<Link>,
        named: Option<ConversationId>,
    ) -> Result<Joined, BadId> {
        if self.store.is_shared()
            && let Some(line) = self.seen_elsewhere(payer, &chain, named.as_ref()).await
        {
            self.threads.load(&[line]);
        }
        self.threads.join(payer, chain, named, &*self.clock_and_rng)
    }

    /// The conversation as stored by another node, if it is unknown here. If the store fails, it counts as unknown.
    async fn seen_elsewhere(
        &self,
        payer: &str,
        chain: &[Link],
        named: Option<&ConversationId>,
    ) -> Option<ProxiedConversation> {
        if let Some(named) = named {
            let is_known = self.threads.contains(payer, named);
            return if is_known { None } else { self.store.proxied_line(payer, named).await.ok()? };
        }
        if self.threads.matches(payer, chain) {
            return None;
        }
        let mut lines = self.store.proxied_of(payer, MAX_LOOKUP_CONVERSATIONS).await.ok()?;
        let mut seen = ConversationMatcher::default();
        lines.iter().rev().for_each(|line| seen.note(&line.conversation, Link::read(&line.chain)));
        let found = seen.find(chain)?;
        let at = lines.iter().position(|line| line.conversation == *found)?;
        Some(lines.swap_remove(at))
    }

    /// Reserves space in the queue. Returns the exchange if there is room.
    pub(super) fn reserve(&self, exchange: Exchange) -> Option<Exchange> {
        let size = exchange.request.len();
        if self.queued_bytes.fetch_add(size, Ordering::Relaxed) + size <= MAX_QUEUED_BYTES {
            return Some(exchange);
        }
        self.record_undiagnosed(Work::Note(Box::new(exchange)));
        None
    }

    pub(super) fn queued_bytes(&self) -> usize {
        self.queued_bytes.load(Ordering::Relaxed)
    }

    /// Logs an exchange without a diagnosis. Its cost still counts.
    pub(super) fn record_undiagnosed(&self, work: Work) {
        let Work::Note(exchange) = work else { return };
        self.queued_bytes.fetch_sub(exchange.request.len(), Ordering::Relaxed);
        self.undiagnosed.fetch_add(1, Ordering::Relaxed);
        let config = self.config();
        let request = ParsedRequest::read(exchange.dialect, &exchange.request);
        let model = named_model(&exchange, request.as_ref());
        let facts = facts(&config, &exchange, model.as_deref());
        let conversation = exchange.conversation.as_ref();
        self.record_events(&exchange, conversation, model.as_deref(), &config, facts.as_deref());
    }

    pub(super) fn record_events(
        &self,
        exchange: &Exchange,
        conversation: Option<&ConversationId>,
        model: Option<&str>,
        config: &Config,
        facts: Option<&ModelFacts>,
    ) {
        let price = estimate::price(exchange, facts);
        let entry = Entry { exchange, conversation, model, price, agent: &config.agent.name };
        entry.events().into_iter().for_each(|event| self.recorder.record(event));
        // After the event was queued.
        if let Some(cost) = price.known().filter(|cost| *cost > Money::ZERO) {
            let spending = self.agent.spending();
            if let Payer::Token { id, .. } = &exchange.payer {
                spending.tokens().charge(id, cost);
            }
            let session = conversation.map_or("", ConversationId::as_str);
            let payer = Spender { user: exchange.payer.user(), session, agent: &config.agent.name };
            let is_logged = exchange.summary.usage.is_some();
            spending.record(
                &payer,
                price,
                if is_logged { CostSource::Logged } else { CostSource::Estimated },
            );
        }
    }

    pub(super) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.workspace.snapshot().config)
    }
}

/// The requested `provider/model`.
pub(super) fn named_model(exchange: &Exchange, request: Option<&ParsedRequest<'_>>) -> Option<String> {
    let named = request.and_then(ParsedRequest::model);
    let model = named.as_deref().or(exchange.summary.model.as_deref())?;
    Some(format!("{}/{model}", exchange.provider))
}

pub(super) fn facts<'a>(
    config: &'a Config,
    exchange: &Exchange,
    model: Option<&str>,
) -> Option<Cow<'a, ModelFacts>> {
    let answered = || exchange.summary.model.as_ref().map(|model| format!("{}/{model}", exchange.provider));
    let named = model.and_then(|model| config.models.resolve(model));
    // An unknown name may be an alias of the model that answered.
    named.or_else(|| config.models.resolve(&answered()?))
}
