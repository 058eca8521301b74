//! Limits of the providers' prompt caches, each with its source. Values that differ by model, minimum size and prices,
//! are in the model table.

/// The maximum number of breakpoints in a request.
///
/// Source: Anthropic, "Prompt caching" (docs/en/build-with-claude/prompt-caching), up to 4 cache breakpoints; as of 2026-11-16.
pub const MAX_BREAKPOINTS: usize = 4;

/// The lookback from a breakpoint in blocks, the marked block included.
///
/// Source: Anthropic, "Prompt caching" (docs/en/build-with-claude/prompt-caching), the 20-block lookback; as of 2026-11-16.
pub const LOOKBACK_BLOCKS: usize = 20;

/// The lookback for OpenAI models that take breakpoints. They check the latest 80 breakpoints at any distance; each
/// ends a segment, so 80 segments are never more than that.
///
/// Source: OpenAI, "Prompt caching" (api/docs/guides/prompt-caching) and the reference of `prompt_cache_options`; as of
/// 2026-11-16.
pub const LOOKBACK_BLOCKS_OPENAI: usize = 80;

/// The smallest prompt an automatic cache accepts and the granularity of its growth, in tokens.
///
/// Source: OpenAI, "Prompt Caching in the API" (index/api-prompt-caching): from 1,024 tokens, in steps of 128; as of
/// 2026-11-16. A model's own minimum is in the table.
pub const AUTOMATIC_MINIMUM: usize = 1_024;
/// See [`AUTOMATIC_MINIMUM`].
pub const AUTOMATIC_STEP: usize = 128;

/// How long an unused prefix is assumed to be kept where the documentation does not say, in seconds: the lower end of
/// OpenAI's in-memory retention. Documented values are in the model table.
///
/// Source: OpenAI, "Prompt caching" (api/docs/guides/prompt-caching), in-memory retention: "5 to 10 minutes of inactivity, up
/// to one hour"; as of 2026-11-16.
pub const AUTOMATIC_IDLE: u64 = 300;

/// After how many seconds a prefix counts as deleted where no upper limit is documented: the longest one that any
/// provider documents.
///
/// Source: OpenAI, the reference of `prompt_cache_retention` (PyPI package openai 3.51.0): "up to a maximum of 24 hours"; as of
/// 2026-11-17.
pub const ASSUMED_MAX_RETENTION: u64 = 86_400;
