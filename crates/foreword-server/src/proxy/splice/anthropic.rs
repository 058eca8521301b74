//! Our words in a request for Anthropic's messages: blocks of `system`, before the client's.

use std::ops::Range;

use foreword_core::price::CacheTtl;

use super::marks::{self, Marks};
use super::{NoPlace, Theirs, Words};
use crate::proxy::body::RequestBody;
use crate::proxy::scan;

/// How the block begins with which Claude Code says who pays. The provider looks for it in the first place.
const BILLING: &str = "x-anthropic-billing-header:";
/// The longest that such a block can be. What is longer says more than that.
const LONGEST_BILLING: usize = 256;
/// And a name with its value.
const LONGEST_PAIR: usize = 48;

/// The client's system prompt.
struct System {
    /// Where the whole of it is, if it is there.
    whole: Option<Range<usize>>,
    /// The block that stays first.
    billing: Option<Range<usize>>,
    /// The others, from the first to the last.
    rest: Option<Rest>,
}

enum Rest {
    Text(Range<usize>),
    Blocks(Range<usize>),
}

pub(super) fn splice(body: &RequestBody<'_>, words: &Words, theirs: Theirs) -> Result<Vec<u8>, NoPlace> {
    let mut system = read(body)?;
    if theirs == Theirs::Go {
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
    let marks = marks::ours(words, tools.map_or(0, |tools| tools.len()), before, behind);
    Ok(put(body, &system, &list(body, &system, words, &marks)))
}

/// The mark by which a client asks the provider to mark by itself.
fn automatic(body: &RequestBody<'_>) -> Marks {
    match body.setting("cache_control") {
        Some(own) if own != b"null" => {
            let long = memchr::memmem::find(own, b"\"1h\"").is_some();
            Marks { count: 1, long, short: !long }
        }
        _ => Marks::default(),
    }
}

fn read(body: &RequestBody<'_>) -> Result<System, NoPlace> {
    let Some(whole) = body.system() else { return Ok(System { whole: None, billing: None, rest: None }) };
    let value = body.at(&whole);
    match value.first() {
        Some(b'n') => Ok(System { whole: Some(whole), billing: None, rest: None }),
        Some(b'"') => {
            // A block without a word is refused.
            let rest = (value.len() > 2).then(|| Rest::Text(whole.clone()));
            Ok(System { whole: Some(whole), billing: None, rest })
        }
        Some(b'[') => {
            let items: Result<Vec<_>, _> = scan::items(body.bytes(), &whole).collect();
            let items = items.map_err(|_| NoPlace::OddSystem)?;
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
        _ => Err(NoPlace::OddSystem),
    }
}

fn is_billing(body: &RequestBody<'_>, block: &Range<usize>) -> bool {
    let members = scan::members(body.bytes(), block).map_while(Result::ok);
    let mut texts = members.filter(|member| member.key == "text");
    // One that says its text twice says who knows what.
    let (Some(text), None) = (texts.next(), texts.next()) else { return false };
    scan::text(body.at(&text.value)).is_some_and(|text| says_who_pays(&text))
}

/// Whether a text is nothing but short names with values, as Claude Code has them: in `replace` whoever writes more behind the
/// heading would keep words of their own before ours.
fn says_who_pays(text: &str) -> bool {
    let is_word =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    let is_pair = |part: &str| {
        let pair = part.split_once('=').filter(|(name, _)| name.starts_with("cc"));
        pair.is_some_and(|(name, value)| part.len() <= LONGEST_PAIR && is_word(name) && is_word(value))
    };
    let pairs = text.strip_prefix(BILLING).filter(|_| text.len() <= LONGEST_BILLING && !text.contains('\n'));
    pairs.is_some_and(|pairs| pairs.split(';').map(str::trim).all(|part| part.is_empty() || is_pair(part)))
}

/// The list of all blocks as JSON, in its pieces.
fn list<'a>(
    body: &RequestBody<'a>,
    system: &System,
    words: &'a Words,
    marks: &[(usize, CacheTtl)],
) -> Vec<&'a [u8]> {
    let mut list: Vec<&[u8]> = Vec::with_capacity(5 * words.blocks.len() + 8);
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
    for (index, block) in words.blocks.iter().enumerate() {
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

/// The request with `list` as its system prompt, written in one go.
fn put(body: &RequestBody<'_>, system: &System, list: &[&[u8]]) -> Vec<u8> {
    let bytes = body.bytes();
    if let Some(whole) = &system.whole {
        return joined(&bytes[..whole.start], b"", list, (b"", &bytes[whole.end..]));
    }
    let inside = body.object().start + 1;
    let is_empty = bytes.get(scan::after_space(bytes, inside)) == Some(&b'}');
    let comma: &[u8] = if is_empty { b"" } else { b"," };
    joined(&bytes[..inside], b"\"system\":", list, (comma, &bytes[inside..]))
}

fn joined(front: &[u8], name: &[u8], list: &[&[u8]], (comma, back): (&[u8], &[u8])) -> Vec<u8> {
    let parts = || [front, name].into_iter().chain(list.iter().copied()).chain([comma, back]);
    let mut out = Vec::with_capacity(parts().map(<[u8]>::len).sum());
    parts().for_each(|part| out.extend_from_slice(part));
    out
}
