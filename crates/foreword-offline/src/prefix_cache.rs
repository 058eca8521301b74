//! Simulates a provider's prompt cache: computes the usage of a request from the prefixes sent before. Entries do not
//! expire, since there is no clock; the oldest are evicted.

use std::collections::{BTreeSet, VecDeque};

use foreword_core::message::Usage;
use foreword_core::model::ModelRequest;
use foreword_core::price::CacheTtl;
use foreword_core::tools::parameters_schema;
use foreword_prompt::prompt::CacheClass;
use foreword_prompt::text::ContentHash;
use foreword_prompt::tokens::Tokenizer;

use crate::request_state::block_text;

const MAX_PREFIXES: usize = 16_384;

/// The hashes of the prefixes sent so far.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache {
    known: BTreeSet<ContentHash>,
    oldest_first: VecDeque<ContentHash>,
}

/// A part of a request: a tool, or a block of the system prompt or of a message.
struct Part {
    /// The hash of everything up to its end.
    prefix: ContentHash,
    tokens: u64,
    /// Whether all conversations of the agent share it.
    shared: bool,
}

impl PrefixCache {
    /// Computes the usage of the request and stores its prefixes.
    pub(crate) fn read(&mut self, request: &ModelRequest) -> Usage {
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
        parts.iter().for_each(|part| self.insert(part.prefix));
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

    fn insert(&mut self, prefix: ContentHash) {
        if !self.known.insert(prefix) {
            return;
        }
        self.oldest_first.push_back(prefix);
        if self.oldest_first.len() > MAX_PREFIXES
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

fn tokens(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.tokens).sum()
}

/// The parts in the order in which providers cache them.
fn parts(request: &ModelRequest) -> Vec<Part> {
    let counter = Tokenizer::Estimate.get();
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
