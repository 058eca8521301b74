//! Values after a key inside text: `password=…`, `"apiKey": "…"`, `--token …`, `<secret>…</secret>`. The text may be a
//! sentence, a shell command, a header, a URL, or JSON nested in strings.

use std::ops::Range;

use super::hit::{Hit, MAX_LOOKAHEAD, looks_random};
use super::keys::{SecretKeys, Sure};
use super::mask::is_mask;

/// Parts of the names of secrets; the context decides.
pub(super) const PARTS: [&str; 14] = [
    "key",
    "token",
    "secret",
    "pass",
    "pwd",
    "authorization",
    "auth",
    "cookie",
    "credential",
    "signature",
    "otp",
    "cvv",
    "jwt",
    "mnemonic",
];
/// The maximum distance between the part and the end of its name.
const MAX_NAME_LEN: usize = 64;
/// Words that may precede `key` with a space.
const SPACED: [&str; 10] =
    ["api", "secret", "access", "private", "signing", "encryption", "license", "account", "admin", "master"];
const SCHEMES: [&str; 10] =
    ["bearer", "basic", "digest", "token", "apikey", "negotiate", "ntlm", "hmac", "key", "aws4-hmac-sha256"];

/// How a value follows its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// `=` and similar operators.
    Equals,
    /// `: `, also common in prose.
    Colon,
    /// A space after `--key`.
    Space,
    /// `<key>`.
    Tag,
}

/// The value of the key that contains the anchor, if it is a secret.
pub(super) fn find(hit: &Hit<'_>, keys: &SecretKeys) -> Option<Range<usize>> {
    let name = name_around(hit);
    let (joint, start) = joint(hit, &name)?;
    let sure = judge(hit, &name, keys)?;
    let value = value(hit, start, joint, sure)?;
    let text = &hit.text[value.clone()];
    let is_secret = !text.is_empty() && !is_mask(text) && !is_placeholder(text) && likely(text, joint, sure);
    is_secret.then_some(value)
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn name_around(hit: &Hit<'_>) -> Range<usize> {
    let before = &hit.bytes()[..hit.at.start];
    let left = before.iter().rev().take(MAX_NAME_LEN).take_while(|byte| in_name(**byte)).count();
    let right =
        hit.bytes()[hit.at.end..].iter().take(MAX_NAME_LEN).take_while(|byte| in_name(**byte)).count();
    // A trailing full stop ends a sentence.
    let end = hit.at.end + right;
    let dots = hit.bytes()[hit.at.end..end].iter().rev().take_while(|byte| **byte == b'.').count();
    hit.at.start - left..end - dots
}

fn judge(hit: &Hit<'_>, name: &Range<usize>, keys: &SecretKeys) -> Option<Sure> {
    let text = &hit.text[name.clone()];
    // An escape such as `\n` before a name is not part of it.
    let escaped = name.start > 0 && hit.bytes()[name.start - 1] == b'\\' && text.starts_with(['n', 'r', 't']);
    let text = if escaped { &text[1..] } else { text };
    if text.eq_ignore_ascii_case("pass") {
        return None;
    }
    keys.judge(text).or_else(|| {
        let spaced =
            text.eq_ignore_ascii_case("key") && SPACED.iter().any(|word| stands_before(hit, name, word));
        spaced.then_some(Sure::IfLikely)
    })
}

fn stands_before(hit: &Hit<'_>, name: &Range<usize>, word: &str) -> bool {
    let before = hit.bytes()[..name.start].strip_suffix(b" ").unwrap_or_default();
    let from = before.len().checked_sub(word.len());
    from.is_some_and(|from| before[from..].eq_ignore_ascii_case(word.as_bytes()))
}

/// The joint between name and value, and the start of the value.
fn joint(hit: &Hit<'_>, name: &Range<usize>) -> Option<(Joint, usize)> {
    let bytes = hit.bytes();
    let closed = hit.short_run(name.end, |byte| matches!(byte, b'\\' | b'"' | b'\'' | b'`' | b']'));
    let at = hit.short_run(closed, |byte| byte.is_ascii_whitespace());
    match bytes.get(at)? {
        b'=' => {
            Some((Joint::Equals, hit.short_run(at + 1, |byte| matches!(byte, b'=' | b'>' | b' ' | b'\t'))))
        }
        b'%' if hit.text[at..].starts_with("%3D") || hit.text[at..].starts_with("%3d") => {
            Some((Joint::Equals, at + 3))
        }
        b':' => {
            let equals = if bytes.get(at + 1) == Some(&b'=') { 2 } else { 1 };
            // The next line is separate, unless it is quoted.
            let start = hit.short_run(at + equals, |byte| matches!(byte, b' ' | b'\t'));
            let next = hit.short_run(start, |byte| byte.is_ascii_whitespace());
            let quoted = matches!(bytes.get(next), Some(b'"' | b'\'' | b'\\'));
            let joint = if closed > name.end { Joint::Equals } else { Joint::Colon };
            Some((joint, if quoted { next } else { start }))
        }
        b'>' if at == name.end && name.start > 0 && bytes[name.start - 1] == b'<' => {
            Some((Joint::Tag, at + 1))
        }
        _ if bytes[name.start] == b'-' && at > closed => Some((Joint::Space, at)),
        _ => None,
    }
}

fn value(hit: &Hit<'_>, start: usize, joint: Joint, sure: Sure) -> Option<Range<usize>> {
    if joint == Joint::Tag {
        return Some(start..start + hit.text[start..].find('<').unwrap_or(hit.text.len() - start));
    }
    let (start, quote) = opened(hit, start);
    if let Some((mark, escapes)) = quote {
        let end = closing(hit.bytes(), start, mark, escapes);
        let start = if sure == Sure::Header { behind_scheme(hit, start..end) } else { start };
        return Some(start..end);
    }
    if sure == Sure::Header {
        return header(hit, start);
    }
    (joint != Joint::Space || hit.bytes().get(start) != Some(&b'-')).then(|| start..bare_end(hit, start))
}

/// The start of the value, its quotation mark, and the number of backslashes before the mark.
fn opened(hit: &Hit<'_>, start: usize) -> (usize, Option<(u8, usize)>) {
    let mark = hit.short_run(start, |byte| byte == b'\\');
    match hit.bytes().get(mark) {
        Some(byte @ (b'"' | b'\'' | b'`')) => (mark + 1, Some((*byte, mark - start))),
        _ => (start, None),
    }
}

/// The end of a quoted value. An unclosed value was truncated and ends with the text.
fn closing(bytes: &[u8], start: usize, mark: u8, escapes: usize) -> usize {
    let mut backslashes = 0;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        if *byte == b'\\' {
            backslashes += 1;
            continue;
        }
        let closes = backslashes <= escapes || (escapes == 0 && backslashes % 2 == 0);
        if *byte == mark && closes {
            return at - if escapes == 0 { 0 } else { backslashes };
        }
        backslashes = 0;
    }
    bytes.len()
}

/// A header value extends to the end of its line or of the quotation.
fn header(hit: &Hit<'_>, start: usize) -> Option<Range<usize>> {
    let value = behind_scheme(hit, start..hit.text.len());
    let first = hit.short_run(value, |byte| !byte.is_ascii_whitespace());
    let word = &hit.bytes()[value..first];
    // Prose also contains colons.
    if value == start && !looks_random(word) && !word.contains(&b'=') {
        return None;
    }
    let digest = hit.text[start..].get(..6).is_some_and(|word| word.eq_ignore_ascii_case("digest"));
    let ends = |byte: u8| matches!(byte, b'\n' | b'\r') || (!digest && matches!(byte, b'"' | b'\'' | b'`'));
    let end = hit.run(value, |byte| !ends(byte));
    let escaped = hit.bytes()[value..end].iter().rev().take_while(|byte| **byte == b'\\').count();
    let lines = hit.text[value..end].find("\\n").or_else(|| hit.text[value..end].find("\\r"));
    Some(value..lines.map_or(end - escaped, |at| value + at))
}

/// The start of the secret after the authentication scheme.
fn behind_scheme(hit: &Hit<'_>, value: Range<usize>) -> usize {
    let end = hit.short_run(value.start, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let word = &hit.text[value.start..end.min(value.end).max(value.start)];
    let known = SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme));
    let next = hit.short_run(end, |byte| matches!(byte, b' ' | b'\t'));
    if known && next > end && next < value.end { next } else { value.start }
}

/// The end of an unquoted value: at a space, at a quotation mark, or before the next key.
fn bare_end(hit: &Hit<'_>, start: usize) -> usize {
    let bytes = hit.bytes();
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        let ends = match byte {
            b'"' | b'\'' | b'`' => !next.is_ascii_alphanumeric(),
            b'&' | b',' | b';' | b'|' => next_is_key(bytes, at + 1),
            b'<' => next == b'/',
            byte => byte.is_ascii_whitespace(),
        };
        if ends {
            break;
        }
        at += 1;
    }
    let closing = |byte: &u8| b",;.:)}]>\"'`\\&|".contains(byte);
    let value = &bytes[start..at];
    // A mask ends with a bracket of its own.
    if is_mask(&hit.text[start..at]) {
        return at;
    }
    let trailing = value.iter().rev().take_while(|byte| closing(byte)).count();
    let trimmed = at - trailing;
    let masked = super::mask::mask_at(hit.text, start).filter(|end| *end >= trimmed);
    masked.unwrap_or(trimmed)
}

/// Whether another `key=` or `key:` follows.
fn next_is_key(bytes: &[u8], at: usize) -> bool {
    let rest = &bytes[at.min(bytes.len())..];
    let name = rest.iter().take(32).take_while(|byte| in_name(**byte) || matches!(byte, b'"' | b'%')).count();
    name > 0 && matches!(rest.get(name), Some(b'=' | b':'))
}

/// Empty values and references to a value.
fn is_placeholder(text: &str) -> bool {
    let word = text.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let nothing =
        ["null", "none", "nil", "true", "false", "undefined", "missing", "unset", "empty", "required"];
    let variable = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let referred = text.strip_prefix('$').map(|name| name.trim_start_matches('{').trim_end_matches('}'));
    let placeholder = text.starts_with('<') && text.ends_with('>') && text.len() < MAX_NAME_LEN;
    word.is_empty() && !text.chars().any(char::is_alphanumeric) && text.len() < 4
        || nothing.iter().any(|other| text.eq_ignore_ascii_case(other))
        || referred.is_some_and(variable)
        || placeholder
}

/// Whether the value may be a secret, where prose is also possible.
fn likely(text: &str, joint: Joint, sure: Sure) -> bool {
    let odd = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_punctuation();
    let seen = &text.as_bytes()[..text.len().min(MAX_LOOKAHEAD)];
    match (sure, joint) {
        (Sure::IfLikely, Joint::Colon) => {
            seen.len() >= 20
                || (seen.len() >= 6 && (looks_random(seen) || seen.iter().any(|byte| odd(*byte))))
        }
        _ => true,
    }
}
