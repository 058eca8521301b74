//! The parts of a request as a cache sees them: without `cache_control` markers, and with a string equal to a list with
//! one text block. Copies nothing; a part is a list of slices.

use std::borrow::Cow;
use std::sync::LazyLock;

use foreword_core::price::CacheTtl;
use memchr::memmem::Finder;

use crate::proxy::scan::{end_of_value, members, skip_whitespace, text};

static MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"cache_control\""));

/// A part, without its slices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part<'a> {
    /// The role of a message.
    pub(super) role: Cow<'a, str>,
    /// Its cache marker.
    pub(super) mark: Option<CacheTtl>,
    /// Whether the slices are a single JSON string.
    pub(super) is_text: bool,
    /// The whole content of a message that has no other fields.
    pub(super) content: Option<&'a [u8]>,
}

/// Splits a message into its role and the slices of its content. A message with other fields, or without content, is
/// taken as a whole.
pub(super) fn message<'a>(bytes: &'a [u8], pieces: &mut Vec<&'a [u8]>) -> Part<'a> {
    pieces.clear();
    let Some((role, content)) = role_then_content(bytes).or_else(|| role_and_content(bytes)) else {
        let mark = strip_markers(bytes, pieces);
        return Part { role: role(bytes), mark, is_text: false, content: None };
    };
    let (mark, is_text) = match only_text(content) {
        Some((text, mark)) => {
            pieces.push(text);
            (mark, true)
        }
        None => (strip_markers(content, pieces), false),
    };
    Part { role, mark, is_text, content: Some(content) }
}

/// Splits a content block.
pub(super) fn block<'a>(bytes: &'a [u8], pieces: &mut Vec<&'a [u8]>) -> Part<'a> {
    pieces.clear();
    let (mark, is_text) = match text_of_block(bytes) {
        Some((text, mark)) => {
            pieces.push(text);
            (mark, true)
        }
        None => (strip_markers(bytes, pieces), false),
    };
    Part { role: Cow::Borrowed(""), mark, is_text, content: None }
}

/// A JSON string without its quotes.
pub(super) fn string_content(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(b"\"")?.strip_suffix(b"\"")
}

/// The text of a content that is a string or a list with one text block.
fn only_text(content: &[u8]) -> Option<(&[u8], Option<CacheTtl>)> {
    if let Some(text) = string_content(content) {
        return Some((text, None));
    }
    let start = after_tokens(content, 0, &[b"["]).map(|at| skip_whitespace(content, at))?;
    let end = end_of_value(content, start).ok()?;
    (after_tokens(content, end, &[b"]"]) == Some(content.len()))
        .then(|| text_of_block(&content[start..end]))?
}

/// The text of a block without other fields but a marker.
fn text_of_block(block: &[u8]) -> Option<(&[u8], Option<CacheTtl>)> {
    let (all, mut text, mut mark) = (0..block.len(), None, None);
    for member in members(block, &all) {
        let member = member.ok()?;
        let value = block.get(member.value)?;
        match &*member.key {
            "type" if value == b"\"text\"" => {}
            "text" => text = Some(string_content(value)?),
            "cache_control" => mark = marker_ttl(value),
            _ => return None,
        }
    }
    Some((text?, mark))
}

pub(super) fn marker_ttl(marker: &[u8]) -> Option<CacheTtl> {
    let hour = memchr::memmem::find(marker, b"\"1h\"").is_some();
    (marker != b"null").then_some(if hour { CacheTtl::OneHour } else { CacheTtl::FiveMinutes })
}

/// Parses the usual order `{"role":"…","content":`. Returns the role and the content.
fn role_then_content(bytes: &[u8]) -> Option<(Cow<'_, str>, &[u8])> {
    let value = after_tokens(bytes, 0, &[b"{", b"\"role\"", b":"])?;
    let value = skip_whitespace(bytes, value);
    let end = end_of_value(bytes, value).ok()?;
    let role = text(bytes.get(value..end)?)?;
    let content = skip_whitespace(bytes, after_tokens(bytes, end, &[b",", b"\"content\"", b":"])?);
    let content = bytes.get(content..)?.trim_ascii_end().strip_suffix(b"}")?;
    Some((role, content.trim_ascii_end()))
}

/// The same in any order.
fn role_and_content(bytes: &[u8]) -> Option<(Cow<'_, str>, &[u8])> {
    let (all, mut role, mut content) = (0..bytes.len(), None, None);
    for member in members(bytes, &all) {
        let member = member.ok()?;
        let value = bytes.get(member.value)?;
        match &*member.key {
            "role" => role = Some(text(value)?),
            "content" => content = Some(value),
            _ => return None,
        }
    }
    Some((role?, content?))
}

/// The index after `tokens`, with whitespace before each.
fn after_tokens(bytes: &[u8], mut at: usize, tokens: &[&[u8]]) -> Option<usize> {
    for token in tokens {
        at = skip_whitespace(bytes, at);
        if !bytes.get(at..)?.starts_with(token) {
            return None;
        }
        at += token.len();
    }
    Some(at)
}

fn role(bytes: &[u8]) -> Cow<'_, str> {
    let all = 0..bytes.len();
    let mut members = members(bytes, &all).map_while(Result::ok);
    let role = members.find(|member| member.key == "role").and_then(|role| text(bytes.get(role.value)?));
    role.unwrap_or_default()
}

/// Collects the slices without `cache_control` members and returns the last marker. Inside a string the quotes would be
/// escaped.
pub(super) fn strip_markers<'a>(bytes: &'a [u8], pieces: &mut Vec<&'a [u8]>) -> Option<CacheTtl> {
    let (mut from, mut mark) = (0, None);
    for at in MARK.find_iter(bytes) {
        let escaped = at.checked_sub(1).is_some_and(|before| bytes[before] == b'\\');
        let value = after_tokens(bytes, at, &[MARK.needle(), b":"]).map(|at| skip_whitespace(bytes, at));
        let Some(end) = value.filter(|_| at >= from && !escaped).and_then(|at| end_of_value(bytes, at).ok())
        else {
            continue;
        };
        mark = marker_ttl(&bytes[value.unwrap_or(end)..end]).or(mark);
        // Also removes the comma before it, or after it if it is the first member.
        let before = bytes[from..at].trim_ascii_end();
        let (start, end) = match before.strip_suffix(b",") {
            Some(before) => (from + before.len(), end),
            None => (at, after_tokens(bytes, end, &[b","]).map_or(end, |at| skip_whitespace(bytes, at))),
        };
        pieces.push(&bytes[from..start]);
        from = end;
    }
    pieces.push(&bytes[from..]);
    mark
}

/// The number of unescaped bytes in the first `raw` bytes of a JSON string.
pub(super) fn unescaped(bytes: &[u8], raw: usize) -> usize {
    let (mut at, mut length) = (0, 0);
    let end = raw.min(bytes.len());
    while at < end {
        let code = match bytes[at..] {
            [b'\\', b'u', a, b, c, d, ..] => std::str::from_utf8(&[a, b, c, d])
                .ok()
                .and_then(|digits| u16::from_str_radix(digits, 16).ok()),
            [b'\\', _, ..] => {
                (at, length) = (at + 2, length + 1);
                continue;
            }
            _ => None,
        };
        let (raw, bytes_of_text) = match code {
            None => (1, 1),
            Some(0..=0x7f) => (6, 1),
            // Half of a surrogate pair, which is four bytes in UTF-8.
            Some(0x80..=0x7ff | 0xd800..=0xdfff) => (6, 2),
            Some(_) => (6, 3),
        };
        (at, length) = (at + raw, length + bytes_of_text);
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message_bytes: &str) -> (String, String, Option<CacheTtl>) {
        let mut pieces = Vec::new();
        let part = message(message_bytes.as_bytes(), &mut pieces);
        (part.role.into_owned(), String::from_utf8(pieces.concat()).unwrap(), part.mark)
    }

    #[test]
    fn text_equals_block_with_or_without_marker() {
        let expected = ("user".to_owned(), r#"say \"hi\""#.to_owned());
        let five = Some(CacheTtl::FiveMinutes);
        for (text, mark) in [
            (r#"{"role":"user","content":"say \"hi\""}"#, None),
            (r#"{ "role": "user", "content": "say \"hi\"" }"#, None),
            (r#"{"role":"user","content":[{"type":"text","text":"say \"hi\""}]}"#, None),
            (
                r#"{"role":"user","content":[{"type":"text","text":"say \"hi\"","cache_control":{"type":"ephemeral"}}]}"#,
                five,
            ),
            (
                r#"{"role":"user","content":[{"cache_control":{"type":"ephemeral"},"type":"text","text":"say \"hi\""}]}"#,
                five,
            ),
            (
                r#"{"role":"user","content":[{"type":"text", "cache_control" : {"type":"ephemeral","ttl":"1h"} ,"text":"say \"hi\""}]}"#,
                Some(CacheTtl::OneHour),
            ),
            (r#"{"role":"user","content":[{"type":"text","text":"say \"hi\"","cache_control":null}]}"#, None),
            (r#"{"content":[ {"text":"say \"hi\"","type":"text"} ],"role":"user"}"#, None),
        ] {
            let (role, said, found) = read(text);
            assert_eq!(((role, said), found), (expected.clone(), mark), "{text}");
        }
    }

    #[test]
    fn markers_inside_text_are_ignored() {
        let text = r#"{"role":"user","content":"a \"cache_control\":{\"type\":\"ephemeral\"} b"}"#;
        assert_eq!(read(text).2, None);
        assert!(read(text).1.contains("ephemeral"));
        assert_eq!(read(r#"{"role":"user","content":"cache_control"}"#).1, "cache_control");
        // As a value rather than a key.
        assert_eq!(read(r#"{"role":"user","content":["cache_control"]}"#).1, r#"["cache_control"]"#);
    }

    #[test]
    fn field_order_and_extra_fields_are_handled() {
        let odd = r#"{"content":"hi","role":"assistant"}"#;
        assert_eq!(read(odd), ("assistant".to_owned(), "hi".to_owned(), None));
        let named = r#"{"content":"hi","name":"bob","role":"user"}"#;
        assert_eq!(read(named), ("user".to_owned(), named.to_owned(), None));
        let two = r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
        assert_ne!(read(two).1, read(r#"{"role":"user","content":"a"}"#).1);
        assert_ne!(
            read(r#"{"role":"user","content":"a","name":"bob"}"#).1,
            read(r#"{"role":"user","content":"a"}"#).1
        );
        for broken in ["", "{", "[]", r#"{"role":"user","content":"#, r#"{"role":5,"content":"x"}"#, "null"] {
            read(broken);
        }
    }

    #[test]
    fn escapes_are_counted_as_unescaped_bytes() {
        for (raw, at, expected) in [
            ("abc", 2, 2),
            (r"a\nb", 3, 2),
            (r#"\"x"#, 3, 2),
            (r"\u00e9x", 7, 3),
            (r"\ud83d\ude00x", 13, 5),
            ("é", 2, 2),
            (r"a\", 2, 2),
        ] {
            assert_eq!(unescaped(raw.as_bytes(), at), expected, "{raw}");
        }
    }
}
