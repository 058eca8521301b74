//! A provider's prompt cache, simulated: which prefixes have been sent before, and what that makes of a request's tokens.
//! Nothing expires by time, because there is no clock here; the oldest are forgotten when there are too many.

use std::collections::{BTreeSet, VecDeque};

use foreword_core::message::Usage;
use foreword_core::model::ModelRequest;
use foreword_core::price::CacheTtl;
use foreword_core::tools::parameters_schema;
use foreword_prompt::prompt::CacheClass;
use foreword_prompt::text::ContentHash;
use foreword_prompt::tokens::Counter;

use super::reading::block_text;

const MOST: usize = 16_384;

/// The prefixes that have been sent, by name.
#[derive(Debug, Default)]
pub(super) struct PrefixCache {
    known: BTreeSet<ContentHash>,
    oldest_first: VecDeque<ContentHash>,
}

/// A part of a request: a tool, a block of the system prompt or of a message.
struct Part {
    /// The name of everything up to its end.
    prefix: ContentHash,
    tokens: u64,
    /// Whether all conversations of an agent have it.
    shared: bool,
}

impl PrefixCache {
    /// What the request takes, and from now on its prefixes are known.
    pub(super) fn read(&mut self, request: &ModelRequest) -> Usage {
        let parts = parts(request);
        let total: u64 = parts.iter().map(|part| part.tokens).sum();
        let smallest = u64::try_from(request.cache.min_cacheable).unwrap_or(u64::MAX);
        if total < smallest {
            return Usage { input: total, ..Usage::default() };
        }
        let mut known =
            parts.iter().rposition(|part| self.known.contains(&part.prefix)).map_or(0, |at| at + 1);
        if tokens(&parts[..known]) < smallest {
            known = 0;
        }
        parts.iter().for_each(|part| self.keep(part.prefix));
        let new = &parts[known..];
        let for_an_hour = request.cache.ttl == CacheTtl::OneHour;
        Usage {
            input: 0,
            output: 0,
            cache_read: tokens(&parts[..known]),
            cache_write: tokens(new),
            cache_write_1h: new
                .iter()
                .filter(|part| for_an_hour && part.shared)
                .map(|part| part.tokens)
                .sum(),
            cache_unknown: false,
        }
    }

    fn keep(&mut self, prefix: ContentHash) {
        if !self.known.insert(prefix) {
            return;
        }
        self.oldest_first.push_back(prefix);
        if self.oldest_first.len() > MOST
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

fn tokens(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.tokens).sum()
}

/// The parts in the order a provider reads them.
fn parts(request: &ModelRequest) -> Vec<Part> {
    let counter = Counter::Estimate.get();
    let mut prefix = ContentHash::of(request.model.as_str());
    let mut part = |place: &str, text: &str, shared: bool| {
        prefix = ContentHash::of_parts([prefix.to_string().as_str(), place, text]);
        Part { prefix, tokens: u64::try_from(counter.count(text)).unwrap_or(u64::MAX), shared }
    };
    let mut parts = Vec::new();
    for tool in request.tools.iter() {
        let text = format!("{} {} {}", tool.name, tool.description, parameters_schema(tool));
        parts.push(part("tool", &text, true));
    }
    for block in &request.system {
        let shared = matches!(block.class, CacheClass::Static | CacheClass::Agent);
        parts.push(part("system", &block.text, shared));
    }
    for message in &request.messages {
        let role = format!("{:?}", message.role);
        for block in &message.content {
            parts.push(part(&role, &block_text(block), false));
        }
    }
    parts
}
