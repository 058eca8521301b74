//! Caches the frozen prompts to inject, so that a running conversation needs no database access.

use std::sync::Arc;

use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_core::id::{ConversationId, TokenId};
use foreword_core::provider::WireDialect;
use foreword_workspace::config::Config;
use foreword_workspace::speaker::Speaker;
use http::HeaderMap;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::headers;
use super::inject_prompt::PromptBlocks;
use crate::app::App;
use crate::auth::{Asserted, Caller, Reader};
use crate::problem::Problem;

const MAX_BYTES: u64 = 32 << 20;
/// The estimated number of entries.
const ESTIMATED_ENTRIES: usize = 2_000;

/// The prompt of a conversation's epoch.
#[derive(Debug, Clone)]
pub(crate) struct InjectedPrompt {
    pub(crate) blocks: Arc<PromptBlocks>,
    pub(crate) epoch: u64,
}

/// The inputs of a prompt. An epoch stays valid as long as they do not change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    conversation: ConversationId,
    generation: u64,
    dialect: WireDialect,
    speaker: Speaker,
}

#[derive(Clone)]
struct BySize;

impl Weighter<Key, InjectedPrompt> for BySize {
    fn weight(&self, _: &Key, prompt: &InjectedPrompt) -> u64 {
        (prompt.blocks.size() + size_of::<Key>()) as u64
    }
}

/// The cached prompts.
pub(crate) struct PromptCache(Cache<Key, InjectedPrompt, BySize>);

impl Default for PromptCache {
    fn default() -> Self {
        Self(Cache::with_weighter(ESTIMATED_ENTRIES, MAX_BYTES, BySize))
    }
}

impl PromptCache {
    /// Removes all entries, when the settings of a conversation change.
    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    /// The prompt of `conversation` for `occasion`.
    pub(crate) async fn find(
        &self,
        app: &App,
        dialect: WireDialect,
        conversation: &ConversationId,
        occasion: TurnOrigin,
    ) -> Result<InjectedPrompt, Problem> {
        let key = Key {
            conversation: conversation.clone(),
            generation: app.workspace.snapshot().generation,
            dialect,
            speaker: occasion.speaker.clone(),
        };
        if let Some(cached) = self.0.get(&key) {
            return Ok(cached);
        }
        let trust = Reader::speaker(&occasion, &app.config()).trust();
        let lent = app.agent.proxy_prompt(conversation, occasion).await;
        let lent = lent.map_err(|error| Problem::of_agent(error, trust))?;
        let prompt = InjectedPrompt { blocks: Arc::new(PromptBlocks::of(&lent, dialect)), epoch: lent.epoch };
        self.0.insert(key, prompt.clone());
        Ok(prompt)
    }
}

/// The headers that set the occasion.
pub(crate) const ASSERTION_HEADERS: [&str; 4] =
    ["x-foreword-user", "x-foreword-channel", "x-foreword-situation", "x-foreword-agent"];

/// Whether the request asserts anything but the caller's own identity.
pub(crate) fn asserts(caller: &Caller, headers: &HeaderMap) -> bool {
    let has_header = |name: &&str| headers.contains_key(*name);
    headers::text(headers, ASSERTION_HEADERS[0]).is_some_and(|user| user != caller.user())
        || ASSERTION_HEADERS[1..].iter().any(has_header)
}

/// A hash of the token and the asserted occasion, as the scope of conversations.
pub(crate) fn assertion_hash(token: &TokenId, headers: &HeaderMap) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("foreword 2026 drop-in asserted occasion");
    let asserted = ASSERTION_HEADERS.iter().map(|name| headers::text(headers, name).unwrap_or_default());
    for text in std::iter::once(token.as_str()).chain(asserted) {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// The occasion from the headers, if the token may set it.
pub(crate) fn occasion(caller: &Caller, config: &Config, headers: &HeaderMap) -> Result<TurnOrigin, Problem> {
    let mut occasion = caller.occasion(&Asserted::of(headers)?, config)?;
    occasion.speaker.situation.get_or_insert_with(|| Arc::clone(&config.proxy.situation));
    let named = headers.contains_key("x-foreword-agent");
    let agent = headers::text(headers, "x-foreword-agent");
    if named && agent.and_then(|agent| config.roster.find(agent)).is_none() {
        let detail = format!("there is no agent `{}`", agent.unwrap_or_default().escape_debug());
        return Err(Problem::bad_request("unknown_agent", detail)
            .help(format!("use one of {}", config.roster.names())));
    }
    occasion.speaker.agent = agent.map(Into::into).or_else(|| config.proxy.agent.clone());
    Ok(occasion)
}
