//! The entries of the prompt cache: a prompt is reused while everything that determines it is equal, with its time set
//! anew.

use std::path::PathBuf;
use std::sync::Arc;

use foreword_core::models::Factor;
use foreword_prompt::text::ContentHash;
use jiff::Zoned;
use jiff::tz::TimeZone;

use crate::build::{self, Built};
use crate::request::{Request, SourcePolicy, ToolsOf, formatted_time};
use crate::snapshot::Snapshot;
use crate::speaker::Speaker;

/// Everything that determines a prompt under one snapshot, except the time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PromptKey {
    generation: u64,
    speaker: Speaker,
    /// `None` for prompts that do not contain the conversation's id: all conversations share them.
    conversation: Option<Arc<str>>,
    cwd: Option<PathBuf>,
    session_instructions: Option<Arc<str>>,
    context: Option<ContentHash>,
    history_tokens: usize,
    calibration: Option<Factor>,
    more_tools: Option<ContentHash>,
    tools_of: ToolsOf,
    stored: Option<ContentHash>,
    last_good: Option<ContentHash>,
    /// Whether only the turn's layers are built.
    turn_layers_only: bool,
}

impl PromptKey {
    /// The key of a prompt without the conversation's id.
    pub(super) fn of(snapshot: &Snapshot, request: &Request) -> Self {
        Self {
            generation: snapshot.generation,
            speaker: request.speaker.clone(),
            conversation: None,
            cwd: request.cwd.clone(),
            session_instructions: request.session_instructions.clone(),
            context: request.context_hash(),
            history_tokens: request.history_to_the_next_step(),
            calibration: request.calibration,
            more_tools: (!request.more_tools.is_empty()).then(|| build::tools_hash(&request.more_tools)),
            tools_of: request.tools_of,
            stored: request.stored.as_ref().map(|stored| stored.identity()),
            last_good: request.last_good.as_ref().map(|last_good| last_good.identity()),
            turn_layers_only: request.sources == SourcePolicy::TurnLayersOnly,
        }
    }

    /// The key of a prompt with the id of the request's conversation.
    pub(super) fn with_conversation(self, request: &Request) -> Self {
        Self { conversation: request.conversation.clone(), ..self }
    }
}

/// A cached prompt, and the minute of the time in it.
#[derive(Debug, Clone)]
pub(super) struct CachedPrompt {
    pub(super) built: Arc<Built>,
    minute: i64,
    zone: TimeZone,
}

impl CachedPrompt {
    pub(super) fn new(built: Arc<Built>, now: &Zoned) -> Self {
        Self { built, minute: minute(now), zone: now.time_zone().clone() }
    }

    pub(super) fn shows(&self, now: &Zoned) -> bool {
        self.minute == minute(now) && self.zone == *now.time_zone()
    }

    /// The prompt with its time set to `now`, or `None` if it must be built again.
    pub(super) fn at(&self, now: &Zoned) -> Option<Self> {
        let mut occasion = self.built.occasion.clone();
        occasion.now = formatted_time(now);
        let counter = self.built.model.as_ref().map_or_else(Default::default, |model| model.tokenizer);
        let prompt = self.built.prompt.at_time(&occasion, counter.get())?;
        Some(Self::new(Arc::new(Built { prompt, occasion, ..Built::clone(&self.built) }), now))
    }
}

fn minute(now: &Zoned) -> i64 {
    now.timestamp().as_second().div_euclid(60)
}
