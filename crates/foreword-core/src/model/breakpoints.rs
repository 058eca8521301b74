//! Chooses the cache breakpoints of a request, as far as the dialects have in common. At most four, longer times to
//! live before shorter ones, and none below the minimum cacheable size.

use foreword_prompt::prompt::CacheClass;

use super::{ModelRequest, RequestMessage, RequestRole};
use crate::message::ContentBlock;
use crate::models::Breakpoints;
use crate::models::cache_limits::{LOOKBACK_BLOCKS, MAX_BREAKPOINTS};
use crate::price::CacheTtl;

/// Estimated bytes per token; only used to check the minimum cacheable size.
const BYTES_PER_TOKEN: usize = 4;

/// The positions of the breakpoints.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct BreakpointPositions {
    /// Blocks of the system prompt, by index.
    pub system: Vec<(usize, CacheTtl)>,
    /// Blocks of messages as sent: the index of the message, and of the block in it.
    pub messages: Vec<(usize, usize)>,
}

/// The blocks of a message as sent.
#[derive(Debug)]
pub struct MessageShape {
    /// The author's role.
    pub role: RequestRole,
    /// For each block, whether it may carry a breakpoint.
    pub blocks: Vec<bool>,
}

/// The breakpoints of a request that is sent unchanged. A dialect that removes or adds blocks may place them one block
/// further.
#[must_use]
pub fn of_request(request: &ModelRequest) -> BreakpointPositions {
    if !matches!(request.cache.breakpoints, Breakpoints::Explicit | Breakpoints::Either) {
        return BreakpointPositions::default();
    }
    let length = |text: Option<&str>| text.map_or(0, str::len);
    let tools = request.tools.iter();
    let tools =
        tools.map(|tool| tool.name.len() + tool.description.len() + length(tool.schema.as_deref())).sum();
    let shapes: Vec<MessageShape> = request.messages.iter().map(MessageShape::of).collect();
    let said = || request.messages.iter().flat_map(|message| &message.content).map(weight).sum();
    choose(request, tools, &shapes, said)
}

/// The approximate size of a block, in bytes.
fn weight(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text { text } => text.len(),
        other => serde_json::to_string(other).map_or(0, |json| json.len()),
    }
}

impl MessageShape {
    fn of(message: &RequestMessage) -> Self {
        let blocks = message.content.iter().map(|block| !matches!(block, ContentBlock::Other(_))).collect();
        Self { role: message.role, blocks }
    }
}

/// The breakpoints of a whole request. `tools` is the size of the tools in bytes. `said` returns the size of the
/// messages; it is called only if needed, since a history can be long.
#[must_use]
pub fn choose(
    request: &ModelRequest,
    tools: usize,
    messages: &[MessageShape],
    said: impl FnOnce() -> usize,
) -> BreakpointPositions {
    let min = request.cache.min_cacheable;
    let frozen = tools / BYTES_PER_TOKEN + request.system.iter().map(|block| block.tokens).sum::<usize>();
    let is_large = frozen >= min || frozen + said() / BYTES_PER_TOKEN >= min;
    let conversation = if is_large { in_conversation(messages) } else { Vec::new() };
    BreakpointPositions {
        system: system(request, tools, MAX_BREAKPOINTS - conversation.len()),
        messages: conversation,
    }
}

/// The last `most` ends of spans with the same stability in the system prompt. A dropped earlier breakpoint is still
/// found by lookback once it was written.
#[must_use]
pub fn system(request: &ModelRequest, tools: usize, most: usize) -> Vec<(usize, CacheTtl)> {
    let blocks: Vec<_> = request.system.iter().map(|block| (block.class, block.tokens)).collect();
    of_blocks(&blocks, tools, request.cache.min_cacheable, request.cache.ttl, most)
}

/// Like [`system`], for blocks given by class and tokens, after `tools` bytes of tools, for a model that caches at
/// least `min` tokens.
#[must_use]
pub fn of_blocks(
    blocks: &[(CacheClass, usize)],
    tools: usize,
    min: usize,
    mut longest: CacheTtl,
    most: usize,
) -> Vec<(usize, CacheTtl)> {
    let mut tokens = tools / BYTES_PER_TOKEN;
    let mut marks = Vec::new();
    for (index, (class, weight)) in blocks.iter().enumerate() {
        tokens += weight;
        let ends = blocks.get(index + 1).is_none_or(|(next, _)| next != class);
        if !ends || *class == CacheClass::None || tokens < min {
            continue;
        }
        if *class == CacheClass::Conversation {
            longest = CacheTtl::FiveMinutes;
        }
        marks.push((index, longest));
    }
    marks.split_off(marks.len().saturating_sub(most))
}

/// The last block that can carry a breakpoint; and the end of the previous request, if it is beyond the lookback.
fn in_conversation(messages: &[MessageShape]) -> Vec<(usize, usize)> {
    let Some(last) = last_markable(messages) else { return Vec::new() };
    let answered = messages.iter().rposition(|message| message.role == RequestRole::Assistant);
    let before = answered.map_or(&[][..], |answer| &messages[..answer]);
    let asked = before.iter().rposition(|message| message.role != RequestRole::Assistant);
    let previous = asked.and_then(|asked| last_markable(&before[..=asked]));
    let position = |(message, block)| blocks_before(messages, message) + block;
    match previous {
        Some(previous) if position(last).saturating_sub(position(previous)) >= LOOKBACK_BLOCKS => {
            vec![previous, last]
        }
        _ => vec![last],
    }
}

fn last_markable(messages: &[MessageShape]) -> Option<(usize, usize)> {
    let places = messages.iter().enumerate().rev();
    places.filter_map(|(at, message)| Some((at, message.blocks.iter().rposition(|may| *may)?))).next()
}

fn blocks_before(messages: &[MessageShape], message: usize) -> usize {
    messages[..message].iter().map(|message| message.blocks.len()).sum()
}
