//! Levels, categories and types of events. Log lines use another name for some types. Unknown values are preserved,
//! because another node may be newer.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::string_enum::UnknownValue;

/// The severity of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For debugging.
    Debug,
    /// Normal operation.
    Info,
    /// A problem that was handled.
    Warn,
    /// A failure.
    Error,
}

impl Level {
    /// All levels, in ascending order.
    pub const ALL: [Self; 4] = [Self::Debug, Self::Info, Self::Warn, Self::Error];

    /// The stored value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Level {
    type Err = UnknownValue;

    fn from_str(word: &str) -> Result<Self, UnknownValue> {
        let known = Self::ALL.into_iter().find(|level| level.as_str() == word);
        known.ok_or_else(|| UnknownValue { what: "level", word: word.to_owned() })
    }
}

macro_rules! open_string_enum {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal $(| $other:literal)?,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
            /// A value that this version does not know.
            Other(Cow<'static, str>),
        }

        impl $name {
            /// All known values.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant),*];

            /// The stored value.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }

            fn parse_known(word: &str) -> Option<Self> {
                match word {
                    $($word $(| $other)? => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                Self::parse_known(&word).unwrap_or(Self::Other(Cow::Owned(word)))
            }
        }

        impl From<&'static str> for $name {
            fn from(word: &'static str) -> Self {
                Self::parse_known(word).unwrap_or(Self::Other(Cow::Borrowed(word)))
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.as_str().to_owned()
            }
        }

        impl FromStr for $name {
            type Err = Infallible;

            fn from_str(word: &str) -> Result<Self, Infallible> {
                Ok(Self::from(word.to_owned()))
            }
        }
    )*};
}

open_string_enum! {
    /// The subsystem of an event.
    Category {
        /// The process as a whole.
        Gateway = "gateway",
        /// Identity and trust of a user.
        Router = "router",
        /// Building system prompts.
        Prompt = "prompt",
        /// Running turns.
        Agent = "agent",
        /// Tools.
        Tool = "tool",
        /// Channels for messages.
        Channel = "channel",
        /// Model providers.
        Provider = "provider",
        /// Memory.
        Memory = "memory",
        /// Conversations.
        Session = "session",
        /// Schedules.
        Scheduler = "scheduler",
        /// The configuration.
        Config = "config",
    }
    /// The type of an event.
    ///
    /// ```
    /// use foreword_core::event::EventType;
    /// let started: EventType = "turn_started".parse().unwrap();
    /// assert_eq!(started, EventType::TurnStarted);
    /// assert_eq!(started.line_name(), "turn_start");
    /// assert_eq!(EventType::from("turn_start"), started);
    /// assert_eq!(EventType::from("moon_rose").as_str(), "moon_rose");
    /// ```
    EventType {
        /// A message was received.
        MessageReceived = "message_received",
        /// A message was sent.
        MessageSent = "message_sent",
        /// A message could not be answered and waits for another attempt.
        MessageQueued = "message_queued",
        /// A channel failed or recovered.
        ChannelError = "channel_error",
        /// The effective trust was resolved.
        TrustResolved = "trust_resolved",
        /// A system prompt was built.
        PromptBuilt = "prompt_built",
        /// A template was stored.
        TemplateChanged = "template_changed",
        /// A mutable layer was changed.
        LayerChanged = "layer_changed",
        /// A turn started.
        TurnStarted = "turn_started" | "turn_start",
        /// A turn ended.
        TurnCompleted = "turn_completed" | "turn_end",
        /// A turn was aborted by an error in Foreword.
        TurnLeft = "turn_left",
        /// A model was called.
        ApiCall = "api_call",
        /// A model call failed.
        ApiError = "api_error" | "provider_error",
        /// An answer far exceeded the requested length and was cut off.
        AnswerTruncated = "answer_truncated",
        /// A provider's rate limit was hit.
        ProviderRateLimit = "provider_rate_limit",
        /// A prompt cache miss.
        CacheMiss = "cache_miss",
        /// Spending reached the warning threshold of a budget.
        BudgetWarning = "budget_warning",
        /// A call was refused because a budget is used up.
        BudgetExceeded = "budget_exceeded",
        /// A tool was called.
        ToolCall = "tool_call",
        /// A tool failed.
        ToolError = "tool_error",
        /// A tool call was refused; the metadata has the reason.
        ToolBlocked = "tool_blocked",
        /// A tool exceeded its timeout and was stopped.
        ToolTimeout = "tool_timeout",
        /// The output of a tool was truncated.
        ToolOutputTruncated = "tool_output_truncated",
        /// The memory was searched.
        MemorySearch = "memory_search",
        /// A memory was written.
        MemoryWrite = "memory_write",
        /// A conversation was created.
        SessionCreated = "session_created",
        /// A history was replaced by a summary.
        SessionCompacted = "session_compacted",
        /// Compaction failed; the history is unchanged.
        CompactionFailed = "compaction_failed",
        /// A schedule fired.
        ScheduleFired = "schedule_fired" | "cron_start",
        /// A scheduled firing ended.
        ScheduleEnded = "schedule_ended" | "cron_end",
        /// A scheduled firing failed.
        ScheduleError = "schedule_error" | "cron_error",
        /// A workflow started.
        WorkflowStarted = "workflow_started",
        /// A workflow ended.
        WorkflowEnded = "workflow_ended",
        /// A tool server connected, disconnected or changed its tools.
        ToolServer = "tool_server",
        /// A conversation was handed over to another agent.
        HandedOver = "handed_over",
        /// A prompt source cannot be read or rendered.
        PromptSourceFailed = "prompt_source_failed",
        /// A failed prompt source works again.
        PromptSourceRecovered = "prompt_source_recovered",
        /// The configuration was reloaded.
        ConfigReloaded = "config_reloaded" | "config_reload",
        /// A server started listening.
        ServerStart = "server_start",
        /// A WebSocket client connected.
        WsConnect = "ws_connect",
        /// A WebSocket client disconnected.
        WsDisconnect = "ws_disconnect",
        /// The database failed; error and metadata have the reason.
        StoreFailed = "store_failed",
        /// The database is writable again.
        StoreRecovered = "store_recovered",
        /// The tables of an older Foreword were migrated; the metadata has the backup.
        StoreMigrated = "store_migrated",
        /// Events were dropped; the metadata has the number.
        EventsLost = "events_lost",
    }
}

impl EventType {
    /// The name in log lines.
    #[must_use]
    pub fn line_name(&self) -> &str {
        match self {
            Self::TurnStarted => "turn_start",
            Self::TurnCompleted => "turn_end",
            Self::ApiError => "provider_error",
            Self::ScheduleFired => "cron_start",
            Self::ScheduleEnded => "cron_end",
            Self::ScheduleError => "cron_error",
            Self::ConfigReloaded => "config_reload",
            other => other.as_str(),
        }
    }

    /// The default category.
    #[must_use]
    pub fn category(&self) -> Category {
        match self {
            Self::MessageReceived | Self::MessageSent | Self::MessageQueued | Self::ChannelError => {
                Category::Channel
            }
            Self::TrustResolved => Category::Router,
            Self::PromptBuilt
            | Self::TemplateChanged
            | Self::LayerChanged
            | Self::PromptSourceFailed
            | Self::PromptSourceRecovered => Category::Prompt,
            Self::TurnStarted
            | Self::TurnCompleted
            | Self::TurnLeft
            | Self::WorkflowStarted
            | Self::WorkflowEnded => Category::Agent,
            Self::ApiCall
            | Self::ApiError
            | Self::AnswerTruncated
            | Self::ProviderRateLimit
            | Self::CacheMiss
            | Self::BudgetWarning
            | Self::BudgetExceeded => Category::Provider,
            Self::ToolCall
            | Self::ToolError
            | Self::ToolBlocked
            | Self::ToolTimeout
            | Self::ToolOutputTruncated
            | Self::ToolServer => Category::Tool,
            Self::MemorySearch | Self::MemoryWrite => Category::Memory,
            Self::SessionCreated | Self::SessionCompacted | Self::CompactionFailed | Self::HandedOver => {
                Category::Session
            }
            Self::ScheduleFired | Self::ScheduleEnded | Self::ScheduleError => Category::Scheduler,
            Self::ConfigReloaded => Category::Config,
            Self::ServerStart
            | Self::WsConnect
            | Self::WsDisconnect
            | Self::StoreFailed
            | Self::StoreRecovered
            | Self::StoreMigrated
            | Self::EventsLost
            | Self::Other(_) => Category::Gateway,
        }
    }

    /// The default level.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Self::ChannelError
            | Self::ApiError
            | Self::ToolError
            | Self::ScheduleError
            | Self::StoreFailed
            | Self::TurnLeft => Level::Error,
            Self::EventsLost
            | Self::CompactionFailed
            | Self::AnswerTruncated
            | Self::ProviderRateLimit
            | Self::CacheMiss
            | Self::BudgetWarning
            | Self::BudgetExceeded
            | Self::MessageQueued
            | Self::ToolBlocked
            | Self::ToolTimeout
            | Self::ToolOutputTruncated => Level::Warn,
            _ => Level::Info,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_names_and_aliases_round_trip() {
        for known in EventType::KNOWN {
            assert_eq!(known.as_str().parse(), Ok(known.clone()));
            assert_eq!(known.line_name().parse(), Ok(known.clone()));
        }
        for known in Category::KNOWN {
            assert_eq!(known.as_str().parse(), Ok(known.clone()));
        }
        for level in Level::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
    }

    #[test]
    fn some_types_have_another_name_in_log_lines() {
        let renamed: Vec<_> = EventType::KNOWN
            .iter()
            .filter(|known| known.as_str() != known.line_name())
            .map(|known| (known.as_str(), known.line_name()))
            .collect();
        let expected = [
            ("turn_started", "turn_start"),
            ("turn_completed", "turn_end"),
            ("api_error", "provider_error"),
            ("schedule_fired", "cron_start"),
            ("schedule_ended", "cron_end"),
            ("schedule_error", "cron_error"),
            ("config_reloaded", "config_reload"),
        ];
        assert_eq!(renamed, expected);
    }

    #[test]
    fn unknown_values_are_preserved() {
        let category: Category = "plumbing".parse().unwrap();
        assert_eq!(category, Category::Other("plumbing".into()));
        assert_eq!(serde_json::to_string(&category).unwrap(), "\"plumbing\"");
        assert!("fatal".parse::<Level>().is_err());
    }
}
