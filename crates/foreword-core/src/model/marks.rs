//! Which places of a request are marked for the provider's cache: the cache plan, lowered as far as the dialects have in
//! common. Never more than four, a longer time to live before a shorter one, and none below the smallest size that is
//! cached.

use foreword_prompt::prompt::CacheClass;

use super::{ModelRequest, RequestMessage, RequestRole};
use crate::message::ContentBlock;
use crate::models::Breakpoints;
use crate::models::caching::{LOOK_BACK, MOST_MARKS};
use crate::price::CacheTtl;

/// About how many bytes make a token; only used to see whether a prefix is large enough to be cached at all.
const BYTES_PER_TOKEN: usize = 4;

/// The places that are marked.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct Marks {
    /// Blocks of the system prompt, by their index in the request.
    pub system: Vec<(usize, CacheTtl)>,
    /// Blocks of the messages as they are sent: which message, and which of its blocks.
    pub messages: Vec<(usize, usize)>,
}

/// A message as it is sent.
#[derive(Debug)]
pub struct Shape {
    /// Who speaks.
    pub role: RequestRole,
    /// For each block, whether it may be marked.
    pub blocks: Vec<bool>,
}

/// The marks a request gets that is sent as it stands here. A dialect that leaves blocks out, or adds some, may put them a
/// block further.
#[must_use]
pub fn of_request(request: &ModelRequest) -> Marks {
    if !matches!(request.cache.breakpoints, Breakpoints::Explicit | Breakpoints::Either) {
        return Marks::default();
    }
    let length = |text: Option<&str>| text.map_or(0, str::len);
    let tools = request.tools.iter();
    let tools =
        tools.map(|tool| tool.name.len() + tool.description.len() + length(tool.schema.as_deref())).sum();
    let shapes: Vec<Shape> = request.messages.iter().map(Shape::of).collect();
    let said = || request.messages.iter().flat_map(|message| &message.content).map(weight).sum();
    choose(request, tools, &shapes, said)
}

/// About how many bytes a block is.
fn weight(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text { text } => text.len(),
        other => serde_json::to_string(other).map_or(0, |json| json.len()),
    }
}

impl Shape {
    fn of(message: &RequestMessage) -> Self {
        let blocks = message.content.iter().map(|block| !matches!(block, ContentBlock::Other(_))).collect();
        Self { role: message.role, blocks }
    }
}

/// The marks for all of a request. `tools` is how many bytes its tools are, and `said` tells how many its messages are:
/// a long history is only weighed if it matters.
#[must_use]
pub fn choose(
    request: &ModelRequest,
    tools: usize,
    messages: &[Shape],
    said: impl FnOnce() -> usize,
) -> Marks {
    let min = request.cache.min_cacheable;
    let frozen = tools / BYTES_PER_TOKEN + request.system.iter().map(|block| block.tokens).sum::<usize>();
    let is_large = frozen >= min || frozen + said() / BYTES_PER_TOKEN >= min;
    let conversation = if is_large { in_conversation(messages) } else { Vec::new() };
    Marks { system: system(request, tools, MOST_MARKS - conversation.len()), messages: conversation }
}

/// The last `most` ends of a stretch of the same stability in the system prompt. An earlier one that is left out is
/// still found by looking back from the next, once it has been written.
#[must_use]
pub fn system(request: &ModelRequest, tools: usize, most: usize) -> Vec<(usize, CacheTtl)> {
    let blocks: Vec<_> = request.system.iter().map(|block| (block.class, block.tokens)).collect();
    of_blocks(&blocks, (tools, request.cache.min_cacheable), request.cache.ttl, most)
}

/// The same for blocks of which only the class and the tokens are known, behind `tools` bytes of tools, for a model that
/// caches no fewer than `min` tokens.
#[must_use]
pub fn of_blocks(
    blocks: &[(CacheClass, usize)],
    (tools, min): (usize, usize),
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

/// The last block that can be marked; and where the request before this one ended, if that is too far back to be found
/// from there.
fn in_conversation(messages: &[Shape]) -> Vec<(usize, usize)> {
    let Some(last) = last_markable(messages) else { return Vec::new() };
    let answered = messages.iter().rposition(|message| message.role == RequestRole::Assistant);
    let before = answered.map_or(&[][..], |answer| &messages[..answer]);
    let asked = before.iter().rposition(|message| message.role != RequestRole::Assistant);
    let previous = asked.and_then(|asked| last_markable(&before[..=asked]));
    match previous {
        Some(previous) if blocks_between(messages, previous, last) >= LOOK_BACK => vec![previous, last],
        _ => vec![last],
    }
}

fn last_markable(messages: &[Shape]) -> Option<(usize, usize)> {
    let places = messages.iter().enumerate().rev();
    places.filter_map(|(at, message)| Some((at, message.blocks.iter().rposition(|may| *may)?))).next()
}

fn blocks_between(messages: &[Shape], from: (usize, usize), to: (usize, usize)) -> usize {
    let count = |(message, block): (usize, usize)| {
        messages[..message].iter().map(|message| message.blocks.len()).sum::<usize>() + block
    };
    count(to).saturating_sub(count(from))
}
