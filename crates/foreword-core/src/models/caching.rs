//! How providers cache prompts, in figures, each with its source. What differs from model to model, the smallest size and the
//! prices, is in the table of models.

/// The most marks a request may have.
///
/// Source: Anthropic, "Prompt caching" (docs/en/build-with-claude/prompt-caching), up to 4 cache breakpoints; as of 2026-11-16.
pub const MOST_MARKS: usize = 4;

/// How many blocks before a mark are looked at for something that was cached, the marked one included.
///
/// Source: Anthropic, "Prompt caching" (docs/en/build-with-claude/prompt-caching), the 20-block lookback; as of 2026-11-16.
pub const LOOK_BACK: usize = 20;

/// The same for OpenAI models that take marks. They look at the latest 80 breakpoints however far back those are; each is at
/// the end of a segment, so 80 segments are never more than that.
///
/// Source: OpenAI, "Prompt caching" (api/docs/guides/prompt-caching) and the reference of `prompt_cache_options`; as of
/// 2026-11-16.
pub const LOOK_BACK_OPENAI: usize = 80;

/// The smallest prompt an automatic cache takes, and the step in which it grows, in tokens.
///
/// Source: OpenAI, "Prompt Caching in the API" (index/api-prompt-caching): from 1,024 tokens, in steps of 128; as of
/// 2026-11-16. A model's own minimum is in the table.
pub const AUTOMATIC_MINIMUM: usize = 1_024;
/// See [`AUTOMATIC_MINIMUM`].
pub const AUTOMATIC_STEP: usize = 128;

/// How long a provider is assumed to keep a prefix that nobody uses, in seconds, where its documentation does not say: the
/// lower end of OpenAI's in-memory retention. What providers document is in the table of models.
///
/// Source: OpenAI, "Prompt caching" (api/docs/guides/prompt-caching), in-memory retention: "5 to 10 minutes of inactivity, up
/// to one hour"; as of 2026-11-16.
pub const AUTOMATIC_IDLE: u64 = 300;

/// After how many seconds a prefix counts as deleted where no upper limit is documented: the longest one that any provider
/// documents.
///
/// Source: OpenAI, the reference of `prompt_cache_retention` (PyPI package openai 3.51.0): "up to a maximum of 24 hours"; as of
/// 2026-11-17.
pub const ASSUMED_MAX_RETENTION: u64 = 86_400;
