//! Injects the prompt into an Anthropic request, as blocks of `system` before the client's.

use std::ops::Range;

use foreword_core::price::CacheTtl;

use super::marks::{self, Marks};
use super::{ClientPrompt, InjectError, PromptBlocks};
use crate::proxy::body::RequestBody;
use crate::proxy::scan;

/// The start of Claude Code's billing block. The provider expects it to be the first block.
const BILLING: &str = "x-anthropic-billing-header:";
/// A longer block contains other text.
const MAX_BILLING_BYTES: usize = 256;
/// The maximum length of a `name=value` pair.
const MAX_PAIR_BYTES: usize = 48;

/// The client's system prompt.
struct System {
    /// Its range, if present.
    whole: Option<Range<usize>>,
    /// The billing block, which stays first.
    billing: Option<Range<usize>>,
    /// The other blocks, from the first to the last.
    rest: Option<Rest>,
}

enum Rest {
    Text(Range<usize>),
    Blocks(Range<usize>),
}

pub(super) fn inject(
    body: &RequestBody<'_>,
    prompt: &PromptBlocks,
    client_prompt: ClientPrompt,
) -> Result<Vec<u8>, InjectError> {
    let mut system = read(body)?;
    if client_prompt == ClientPrompt::Remove {
        system.rest = None;
    }
    let bytes = body.bytes();
    let count =
        |range: Option<Range<usize>>| range.map_or_else(Marks::default, |at| Marks::in_range(bytes, at));
    let tools = body.tools();
    let before = count(tools.clone()).and(count(system.billing.clone()));
    let rest = match &system.rest {
        Some(Rest::Blocks(range)) => count(Some(range.clone())),
        Some(Rest::Text(_)) | None => Marks::default(),
    };
    let behind = rest.and(count(body.messages_list())).and(automatic(body));
    let marks = marks::choose(prompt, tools.map_or(0, |tools| tools.len()), before, behind);
    Ok(put(body, &system, &list(body, &system, prompt, &marks)))
}

/// A top-level `cache_control`, which asks the provider for automatic breakpoints.
fn automatic(body: &RequestBody<'_>) -> Marks {
    match body.setting("cache_control") {
        Some(own) if own != b"null" => {
            let long = memchr::memmem::find(own, b"\"1h\"").is_some();
            Marks { count: 1, long, short: !long }
        }
        _ => Marks::default(),
    }
}

fn read(body: &RequestBody<'_>) -> Result<System, InjectError> {
    let Some(whole) = body.system() else { return Ok(System { whole: None, billing: None, rest: None }) };
    let value = body.at(&whole);
    match value.first() {
        Some(b'n') => Ok(System { whole: Some(whole), billing: None, rest: None }),
        Some(b'"') => {
            // The provider refuses empty blocks.
            let rest = (value.len() > 2).then(|| Rest::Text(whole.clone()));
            Ok(System { whole: Some(whole), billing: None, rest })
        }
        Some(b'[') => {
            let items: Result<Vec<_>, _> = scan::items(body.bytes(), &whole).collect();
            let items = items.map_err(|_| InjectError::InvalidSystem)?;
            let (billing, others) = match items.split_first() {
                Some((first, others)) if is_billing(body, first) => (Some(first.clone()), others),
                _ => (None, &items[..]),
            };
            let rest = match others {
                [] => None,
                [first, ..] => {
                    Some(Rest::Blocks(first.start..others.last().map_or(first.end, |last| last.end)))
                }
            };
            Ok(System { whole: Some(whole), billing, rest })
        }
        _ => Err(InjectError::InvalidSystem),
    }
}

fn is_billing(body: &RequestBody<'_>, block: &Range<usize>) -> bool {
    let members = scan::members(body.bytes(), block).map_while(Result::ok);
    let mut texts = members.filter(|member| member.key == "text");
    // With duplicate `text` fields it is not clear which one counts.
    let (Some(text), None) = (texts.next(), texts.next()) else { return false };
    scan::text(body.at(&text.value)).is_some_and(|text| is_billing_text(&text))
}

/// Whether the text is only short `name=value` pairs, as Claude Code sends them. Otherwise a client in `replace` could
/// keep its own text before the injected prompt.
fn is_billing_text(text: &str) -> bool {
    let is_word =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let is_pair = |part: &str| {
        let pair = part.split_once('=').filter(|(name, _)| name.starts_with("cc"));
        pair.is_some_and(|(name, value)| part.len() <= MAX_PAIR_BYTES && is_word(name) && is_word(value))
    };
    let pairs =
        text.strip_prefix(BILLING).filter(|_| text.len() <= MAX_BILLING_BYTES && !text.contains('\n'));
    pairs.is_some_and(|pairs| pairs.split(';').map(str::trim).all(|part| part.is_empty() || is_pair(part)))
}

/// The JSON of all blocks, in pieces.
fn list<'a>(
    body: &RequestBody<'a>,
    system: &System,
    prompt: &'a PromptBlocks,
    marks: &[(usize, CacheTtl)],
) -> Vec<&'a [u8]> {
    let mut list: Vec<&[u8]> = Vec::with_capacity(5 * prompt.blocks.len() + 8);
    list.push(b"[");
    let next = |list: &mut Vec<&'a [u8]>, parts: &[&'a [u8]]| {
        if list.len() > 1 {
            list.push(b",");
        }
        list.extend_from_slice(parts);
    };
    if let Some(billing) = &system.billing {
        next(&mut list, &[body.at(billing)]);
    }
    for (index, block) in prompt.blocks.iter().enumerate() {
        let mark = marks.iter().find(|(marked, _)| *marked == index).map(|(_, ttl)| *ttl);
        let mark: &[u8] = match mark {
            None => b"",
            Some(CacheTtl::FiveMinutes) => br#","cache_control":{"type":"ephemeral"}"#,
            Some(CacheTtl::OneHour) => br#","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
        };
        next(&mut list, &[br#"{"type":"text","text":"#, block.json.as_bytes(), mark, b"}"]);
    }
    match &system.rest {
        Some(Rest::Text(text)) => next(&mut list, &[br#"{"type":"text","text":"#, body.at(text), b"}"]),
        Some(Rest::Blocks(blocks)) => next(&mut list, &[body.at(blocks)]),
        None => {}
    }
    list.push(b"]");
    list
}

/// The request with `list` as its system prompt.
fn put(body: &RequestBody<'_>, system: &System, list: &[&[u8]]) -> Vec<u8> {
    let bytes = body.bytes();
    if let Some(whole) = &system.whole {
        return joined(&bytes[..whole.start], b"", list, b"", &bytes[whole.end..]);
    }
    let inside = body.object().start + 1;
    let is_empty = bytes.get(scan::skip_whitespace(bytes, inside)) == Some(&b'}');
    let comma: &[u8] = if is_empty { b"" } else { b"," };
    joined(&bytes[..inside], b"\"system\":", list, comma, &bytes[inside..])
}

fn joined(front: &[u8], name: &[u8], list: &[&[u8]], comma: &[u8], back: &[u8]) -> Vec<u8> {
    let parts = || [front, name].into_iter().chain(list.iter().copied()).chain([comma, back]);
    let mut out = Vec::with_capacity(parts().map(<[u8]>::len).sum());
    parts().for_each(|part| out.extend_from_slice(part));
    out
}
