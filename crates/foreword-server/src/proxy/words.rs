//! Our words for a request: the frozen prompt of its conversation's epoch, for whoever speaks. Kept, so that a conversation
//! that goes on asks no database for it.

use std::sync::Arc;

use foreword_agent::inbound::Occasion;
use foreword_core::id::{ConversationId, TokenId};
use foreword_core::provider::WireDialect;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::Config;
use http::HeaderMap;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::headers;
use super::splice::Words;
use crate::app::App;
use crate::auth::{Asserted, Caller, Onlooker};
use crate::problem::Problem;

/// How many bytes of words are kept.
const MOST_BYTES: u64 = 32 << 20;
/// About how many conversations that is.
const ABOUT: usize = 2_000;

/// Our words in one conversation, and which epoch they are.
#[derive(Debug, Clone)]
pub(crate) struct Ours {
    pub(crate) words: Arc<Words>,
    pub(crate) epoch: u64,
}

/// What decides them. An epoch holds as long as none of this changes; what changes besides waits for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    conversation: ConversationId,
    generation: u64,
    dialect: WireDialect,
    user: Option<Arc<str>>,
    channel: Option<Channel>,
    situation: Option<Arc<str>>,
    agent: Option<Arc<str>>,
    model: Option<Arc<str>>,
    strangers: Option<Trust>,
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<Key, Ours> for ByWeight {
    fn weight(&self, _: &Key, ours: &Ours) -> u64 {
        (ours.words.weight() + size_of::<Key>()) as u64
    }
}

/// The words of conversations that went on lately.
pub(crate) struct KeptWords(Cache<Key, Ours, ByWeight>);

impl Default for KeptWords {
    fn default() -> Self {
        Self(Cache::with_weighter(ABOUT, MOST_BYTES, ByWeight))
    }
}

impl KeptWords {
    /// Drops all of them: the settings of a conversation have changed.
    pub(crate) fn forget(&self) {
        self.0.clear();
    }

    /// Our words in `conversation`, for whoever speaks on `occasion`.
    pub(crate) async fn find(
        &self,
        app: &App,
        dialect: WireDialect,
        (conversation, occasion): (&ConversationId, Occasion),
    ) -> Result<Ours, Problem> {
        let key = Key {
            conversation: conversation.clone(),
            generation: app.workspace.snapshot().generation,
            dialect,
            user: occasion.user.clone(),
            channel: occasion.channel.clone(),
            situation: occasion.situation.clone(),
            agent: occasion.agent.clone(),
            model: occasion.model.clone(),
            strangers: occasion.strangers,
        };
        if let Some(kept) = self.0.get(&key) {
            return Ok(kept);
        }
        let trust = Onlooker::speaker(&occasion, &app.config()).trust();
        let lent = app.agent.lend_prompt(conversation, occasion).await;
        let lent = lent.map_err(|error| Problem::told(error, trust))?;
        let ours = Ours { words: Arc::new(Words::of(&lent, dialect)), epoch: lent.epoch };
        self.0.insert(key, ours.clone());
        Ok(ours)
    }
}

/// What says who and where somebody is, and whose prompt it is.
pub(crate) const SAYS: [&str; 4] =
    ["x-foreword-user", "x-foreword-channel", "x-foreword-situation", "x-foreword-agent"];

/// Whether a request says anything of that but that its caller is who they are.
pub(crate) fn asserts(caller: &Caller, headers: &HeaderMap) -> bool {
    let is_more = |name: &&str| headers.contains_key(*name);
    headers::text(headers, SAYS[0]).is_some_and(|user| user != caller.user()) || SAYS[1..].iter().any(is_more)
}

/// What stands for that where conversations are kept: a hash with the token in it.
pub(crate) fn asserted_mark(token: &TokenId, headers: &HeaderMap) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("foreword 2026 drop-in asserted occasion");
    let said = SAYS.iter().map(|name| headers::text(headers, name).unwrap_or_default());
    for text in std::iter::once(token.as_str()).chain(said) {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// The occasion a request is on: as its headers say, from a token that may say it.
pub(crate) fn occasion(caller: &Caller, config: &Config, headers: &HeaderMap) -> Result<Occasion, Problem> {
    let mut occasion = caller.occasion(&Asserted::of(headers)?, config)?;
    occasion.situation.get_or_insert_with(|| Arc::clone(&config.proxy.situation));
    let named = headers.contains_key("x-foreword-agent");
    let agent = headers::text(headers, "x-foreword-agent");
    if named && agent.and_then(|agent| config.roster.find(agent)).is_none() {
        let detail = format!("there is no agent `{}`", agent.unwrap_or_default().escape_debug());
        return Err(Problem::bad_request("unknown_agent", detail)
            .help(format!("use one of {}", config.roster.names())));
    }
    occasion.agent = agent.map(Into::into).or_else(|| config.proxy.agent.clone());
    Ok(occasion)
}
