//! The words events are told apart by: level, category and type. In the database they are the ones written here; in
//! log lines five types have another name. A word nobody knows is kept as it is: another node may be newer.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::word::UnknownWord;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// For whoever looks for a fault.
    Debug,
    /// As it should be.
    Info,
    /// Something went wrong and was dealt with.
    Warn,
    /// Something failed.
    Error,
}

impl Level {
    /// All of them, from the least to the worst.
    pub const ALL: [Self; 4] = [Self::Debug, Self::Info, Self::Warn, Self::Error];

    /// The word it is stored as.
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
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let known = Self::ALL.into_iter().find(|level| level.as_str() == word);
        known.ok_or_else(|| UnknownWord { what: "level", word: word.to_owned() })
    }
}

macro_rules! open_words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal $(| $other:literal)?,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
            /// One this program does not know.
            Other(Cow<'static, str>),
        }

        impl $name {
            /// All that are known.
            pub const KNOWN: &'static [Self] = &[$(Self::$variant),*];

            /// The word it is stored as.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Other(word) => word,
                }
            }

            fn known(word: &str) -> Option<Self> {
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
                Self::known(&word).unwrap_or(Self::Other(Cow::Owned(word)))
            }
        }

        impl From<&'static str> for $name {
            fn from(word: &'static str) -> Self {
                Self::known(word).unwrap_or(Self::Other(Cow::Borrowed(word)))
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

open_words! {
    /// Which part of the program it happened in.
    Category {
        /// The program as a whole.
        Gateway = "gateway",
        /// Who somebody is, and what they are trusted with.
        Router = "router",
        /// Building the system prompt.
        Prompt = "prompt",
        /// Running a turn.
        Agent = "agent",
        /// A tool.
        Tool = "tool",
        /// The way messages come and go.
        Channel = "channel",
        /// The model's provider.
        Provider = "provider",
        /// What is remembered.
        Memory = "memory",
        /// A conversation.
        Session = "session",
        /// What runs by the clock.
        Scheduler = "scheduler",
        /// The configuration.
        Config = "config",
    }
    /// What happened.
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
        /// A message came in.
        MessageReceived = "message_received",
        /// A message went out.
        MessageSent = "message_sent",
        /// A message could not be answered now and waits for another attempt.
        MessageQueued = "message_queued",
        /// A channel failed or came back.
        ChannelError = "channel_error",
        /// User and situation gave an effective trust.
        TrustResolved = "trust_resolved",
        /// A system prompt was built.
        PromptBuilt = "prompt_built",
        /// A template was stored.
        TemplateChanged = "template_changed",
        /// A mutable layer got another text.
        LayerChanged = "layer_changed",
        /// The agent began.
        TurnStarted = "turn_started" | "turn_start",
        /// The agent finished.
        TurnCompleted = "turn_completed" | "turn_end",
        /// A turn could not go on for a reason of Foreword's own.
        TurnLeft = "turn_left",
        /// A call to a model.
        ApiCall = "api_call",
        /// A call to a model failed.
        ApiError = "api_error" | "provider_error",
        /// An answer exceeded what was requested by far, and was ended.
        AnswerTruncated = "answer_truncated",
        /// A provider wants fewer calls.
        ProviderRateLimit = "provider_rate_limit",
        /// A provider's cache was read less than it could have been.
        CacheMiss = "cache_miss",
        /// So much was spent that it is worth a word.
        BudgetWarning = "budget_warning",
        /// All that may be spent is spent, and a call was not made.
        BudgetExceeded = "budget_exceeded",
        /// A tool was called.
        ToolCall = "tool_call",
        /// A tool failed.
        ToolError = "tool_error",
        /// A tool was not run, for a reason that is in the metadata.
        ToolBlocked = "tool_blocked",
        /// A tool took too long and was stopped.
        ToolTimeout = "tool_timeout",
        /// A tool gave more than fits, and some of it was left out.
        ToolOutputTruncated = "tool_output_truncated",
        /// Something was looked for in memory.
        MemorySearch = "memory_search",
        /// Something was remembered.
        MemoryWrite = "memory_write",
        /// A conversation began.
        SessionCreated = "session_created",
        /// A history was replaced by its summary.
        SessionCompacted = "session_compacted",
        /// A history that was too long could not be replaced, and stays as it was.
        CompactionFailed = "compaction_failed",
        /// Something ran by the clock.
        ScheduleFired = "schedule_fired" | "cron_start",
        /// What ran by the clock has ended.
        ScheduleEnded = "schedule_ended" | "cron_end",
        /// What ran by the clock has failed.
        ScheduleError = "schedule_error" | "cron_error",
        /// A workflow was started.
        WorkflowStarted = "workflow_started",
        /// A workflow has ended, well or not.
        WorkflowEnded = "workflow_ended",
        /// A server of tools came, went, or changed what it offers.
        ToolServer = "tool_server",
        /// A conversation was given to another agent.
        HandedOver = "handed_over",
        /// A source of prompts can't be read or rendered.
        PromptSourceFailed = "prompt_source_failed",
        /// A source of prompts that failed can be read and rendered again.
        PromptSourceRecovered = "prompt_source_recovered",
        /// The configuration was read again.
        ConfigReloaded = "config_reloaded" | "config_reload",
        /// A server listens.
        ServerStart = "server_start",
        /// A client of the server came to stay.
        WsConnect = "ws_connect",
        /// And went.
        WsDisconnect = "ws_disconnect",
        /// The database failed; why is in the error and the metadata.
        StoreFailed = "store_failed",
        /// The database can be written again.
        StoreRecovered = "store_recovered",
        /// Events could not be kept; how many is in the metadata.
        EventsLost = "events_lost",
    }
}

impl EventType {
    /// The word it has in log lines.
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

    /// Where it usually happens.
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
            | Self::EventsLost
            | Self::Other(_) => Category::Gateway,
        }
    }

    /// How bad it usually is.
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
    fn every_known_word_is_read_as_it_is_written_under_both_of_its_names() {
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
    fn a_word_nobody_knows_is_kept() {
        let category: Category = "plumbing".parse().unwrap();
        assert_eq!(category, Category::Other("plumbing".into()));
        assert_eq!(serde_json::to_string(&category).unwrap(), "\"plumbing\"");
        assert!("fatal".parse::<Level>().is_err());
    }
}
