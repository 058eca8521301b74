//! The causes of cache misses, with a stable code, a description and advice.

use std::fmt;

use foreword_prompt::text::with_thousands;

use super::compare::{SectionChange, ToolChanges};
use super::volatile::IdForm;

/// Why a request did not read everything it could from the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// A clock or date in the prefix changed.
    Clock,
    /// A random id in the prefix changed.
    RandomId(IdForm),
    /// The same tools in a different order.
    ToolsReordered,
    /// Tools were added, removed or edited.
    ToolsChanged(ToolChanges),
    /// The text of a layer changed.
    LayerEdited {
        /// The layer.
        layer: String,
        /// The layer's file, if known.
        file: Option<String>,
    },
    /// The system prompt changed; the layer is unknown.
    SystemChanged(SectionChange),
    /// The trust level changed.
    TrustChanged {
        /// The previous trust level.
        from: String,
        /// The new trust level.
        to: String,
    },
    /// Another property of the occasion changed: agent, blueprint, channel …
    OccasionChanged {
        /// The property.
        what: String,
    },
    /// Another model, which has its own cache.
    ModelChanged {
        /// The previous model.
        from: String,
        /// The new model.
        to: String,
    },
    /// A setting that is part of the cache key changed.
    SettingsChanged {
        /// The setting.
        name: String,
    },
    /// Earlier messages changed.
    HistoryRewritten {
        /// Whether older messages were dropped without other changes.
        trimmed: bool,
    },
    /// A summary replaced earlier messages.
    Compaction,
    /// The cached prefix expired.
    Expired {
        /// Whether it certainly expired, or only possibly.
        certain: bool,
    },
    /// The prefix is below the provider's minimum size.
    BelowMinimum {
        /// The minimum size, in tokens.
        minimum: usize,
    },
    /// The request had more breakpoints than the provider accepts.
    TooManyBreakpoints {
        /// The number of breakpoints in the request.
        found: usize,
        /// The maximum number of breakpoints.
        most: usize,
    },
    /// The request had no breakpoint, and the provider requires one.
    NoBreakpoint,
    /// The last cached prefix is further before the breakpoint than the provider's lookback.
    OutOfReach {
        /// The lookback, in blocks.
        blocks: usize,
    },
    /// The prefix was unchanged, but the provider did not read it.
    ProviderMissed,
    /// The first request of a conversation has nothing to read.
    FirstRequest,
    /// The cause is unknown; the diagnosis lists what is missing.
    Unknown,
}

impl Cause {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::RandomId(_) => "random_id",
            Self::ToolsReordered => "tools_reordered",
            Self::ToolsChanged(_) => "tools_changed",
            Self::LayerEdited { .. } => "layer_edited",
            Self::SystemChanged(_) => "system_changed",
            Self::TrustChanged { .. } => "trust_changed",
            Self::OccasionChanged { .. } => "occasion_changed",
            Self::ModelChanged { .. } => "model_changed",
            Self::SettingsChanged { .. } => "settings_changed",
            Self::HistoryRewritten { .. } => "history_rewritten",
            Self::Compaction => "compaction",
            Self::Expired { .. } => "expired",
            Self::BelowMinimum { .. } => "below_minimum",
            Self::TooManyBreakpoints { .. } => "too_many_breakpoints",
            Self::NoBreakpoint => "no_breakpoint",
            Self::OutOfReach { .. } => "out_of_reach",
            Self::ProviderMissed => "provider_missed",
            Self::FirstRequest => "first_request",
            Self::Unknown => "unknown",
        }
    }

    /// Advice on how to avoid the miss.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Clock => "move it to the turn context",
            Self::RandomId(_) => "leave it out of the prompt, or draw it once for each conversation",
            Self::ToolsReordered => "send the tools in a fixed order, sorted by name",
            Self::ToolsChanged(_) => {
                "keep the tools the same within a conversation, or change them when an epoch begins"
            }
            Self::LayerEdited { .. } => {
                "let edits reach the model as a note, and fold them in when an epoch begins"
            }
            Self::SystemChanged(_) => "move text that changes every turn after the stable text",
            Self::TrustChanged { .. } => "nothing: a prompt is never shared between trusts",
            Self::OccasionChanged { .. } => "nothing if intended: a new epoch has its own prompt",
            Self::ModelChanged { .. } => "keep a conversation on one model: each has a cache of its own",
            Self::SettingsChanged { .. } => "keep the setting the same within a conversation",
            Self::HistoryRewritten { trimmed: true } => {
                "drop old messages seldom and many at once, or summarise them"
            }
            Self::HistoryRewritten { trimmed: false } => "only append to the history",
            Self::Compaction => "nothing: later turns are cheaper with the shorter history",
            Self::Expired { .. } => {
                "ask for a longer time to live, where the provider offers one and pauses are long"
            }
            Self::BelowMinimum { .. } => "nothing: the prompt is below the minimum size",
            Self::TooManyBreakpoints { .. } => "remove breakpoints, those nearest to the front first",
            Self::NoBreakpoint => "put a breakpoint behind the system prompt and one behind the last message",
            Self::OutOfReach { .. } => "put another breakpoint where the previous request ended",
            Self::ProviderMissed => "nothing; if it is frequent, contact the provider",
            Self::FirstRequest => "nothing: the next request can read it",
            Self::Unknown => "keep request shapes and usage, so that the next miss can be explained",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock => f.write_str("a clock"),
            Self::RandomId(form) => f.write_str(form.describe()),
            Self::ToolsReordered => f.write_str("the same tools in another order"),
            Self::ToolsChanged(tools) => tools.fmt(f),
            Self::LayerEdited { layer, file: Some(file) } => {
                write!(f, "layer `{layer}` was edited in `{file}`")
            }
            Self::LayerEdited { layer, file: None } => write!(f, "the text of layer `{layer}` changed"),
            Self::SystemChanged(change) => write!(f, "a part of the system prompt {}", change.describe()),
            Self::TrustChanged { from, to } => write!(f, "trust changed from `{from}` to `{to}`"),
            Self::OccasionChanged { what } => write!(f, "{what} changed"),
            Self::ModelChanged { from, to } => write!(f, "the model changed from `{from}` to `{to}`"),
            Self::SettingsChanged { name } => write!(f, "the setting `{name}` changed"),
            Self::HistoryRewritten { trimmed: true } => f.write_str("older messages were dropped"),
            Self::HistoryRewritten { trimmed: false } => f.write_str("the history was rewritten"),
            Self::Compaction => f.write_str("the history was compacted"),
            Self::Expired { certain: true } => f.write_str("the cache entry expired"),
            Self::Expired { certain: false } => f.write_str("the cache entry may have expired"),
            Self::BelowMinimum { minimum } => {
                write!(f, "a prefix below {} tokens is not cached", with_thousands(*minimum))
            }
            Self::TooManyBreakpoints { found, most } => {
                write!(f, "{found} breakpoints, and the provider takes {most}")
            }
            Self::NoBreakpoint => f.write_str("there was no cache breakpoint"),
            Self::OutOfReach { blocks } => {
                write!(f, "the last cached place is more than {blocks} blocks before a breakpoint")
            }
            Self::ProviderMissed => f.write_str("the prefix was stable: the provider missed"),
            Self::FirstRequest => f.write_str("the first request has nothing to read"),
            Self::Unknown => f.write_str("the cause is not known"),
        }
    }
}

impl SectionChange {
    fn describe(self) -> &'static str {
        match self {
            Self::Added => "was added",
            Self::Removed => "was removed",
            Self::Reordered => "changed places",
            Self::Changed => "changed",
        }
    }
}

impl fmt::Display for ToolChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (names, what) in [(&self.added, "added"), (&self.removed, "removed"), (&self.edited, "edited")] {
            if !names.is_empty() {
                parts.push(format!("{what} `{}`", names.join("`, `")));
            }
        }
        if self.reordered {
            parts.push("order changed".to_owned());
        }
        if parts.is_empty() {
            return f.write_str("the tools changed");
        }
        write!(f, "tools: {}", parts.join("; "))
    }
}
