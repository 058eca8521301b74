//! Secrets recognised by their form: after a word such as `Bearer`, JWTs, bot tokens, secret keys of a pair, private
//! keys, and passwords in URLs.

use std::ops::Range;

use super::hit::{Hit, MAX_LOOKAHEAD, begins_word, looks_random};
use super::mask::{is_mask, mask_at};
use super::shapes::is_small_hex;

type Find = fn(&Hit<'_>) -> Option<Range<usize>>;

/// The anchors and their checks.
pub(super) const FORMS: [(&str, Find); 13] = [
    ("bearer", bearer),
    ("basic", basic),
    ("eyJ", web_token),
    (":AA", bot_token),
    (".", discord_token),
    ("AC", twilio_token),
    ("hooks.slack.com/", web_hook),
    ("discord.com/api/webhooks/", web_hook),
    ("AKIA", secret_half),
    ("ASIA", secret_half),
    ("-----BEGIN", private_key),
    ("-----END", private_key_without_its_beginning),
    ("://", address),
];

/// `Bearer …`, as in a header.
fn bearer(hit: &Hit<'_>) -> Option<Range<usize>> {
    scheme(hit, |value| value.len() >= 32 || (value.len() >= 6 && looks_random(value)))
}

/// `Basic …`: name and password in base64.
fn basic(hit: &Hit<'_>) -> Option<Range<usize>> {
    scheme(hit, |value| {
        let base64 = value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte));
        value.len() >= 8 && base64 && (looks_random(value) || value.ends_with(b"="))
    })
}

fn scheme(hit: &Hit<'_>, is_secret: fn(&[u8]) -> bool) -> Option<Range<usize>> {
    let start = hit.short_run(hit.at.end, |byte| matches!(byte, b' ' | b'\t' | b'+'));
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte);
    let seen = hit.short_run(start, belongs);
    let found = hit.begins_word() && start > hit.at.end && is_secret(&hit.bytes()[start..seen]);
    found.then(|| start..hit.run(start, belongs))
}

/// A JWT: three base64 parts, the first of which starts with `{"`.
fn web_token(hit: &Hit<'_>) -> Option<Range<usize>> {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let head = hit.short_run(hit.at.end, part);
    if !hit.begins_word() || &hit.text[hit.at.clone()] != "eyJ" {
        return None;
    }
    let in_parts = || {
        let next = hit.bytes().get(head) == Some(&b'.') && hit.short_run(head + 1, part) - head > 4;
        next && head - hit.at.start >= 10
    };
    // A first part longer than the limit is not a word either.
    let found = head - hit.at.end == MAX_LOOKAHEAD || in_parts();
    found.then(|| hit.at.start..hit.run(hit.at.end, |byte| part(byte) || byte == b'.'))
}

/// `123456789:AA…`, a Telegram bot token.
fn bot_token(hit: &Hit<'_>) -> Option<Range<usize>> {
    let end =
        hit.short_run(hit.at.start + 1, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let before = &hit.bytes()[hit.free_from.min(hit.at.start)..hit.at.start];
    let digits = before.iter().rev().take(12).take_while(|byte| byte.is_ascii_digit()).count();
    let found = (8..=12).contains(&digits) && end - hit.at.start > 30;
    found.then(|| hit.at.start - digits..end)
}

/// `<id>.<time>.<signature>`, a Discord bot token; the anchor is the first dot. The id is a decimal number in base64.
fn discord_token(hit: &Hit<'_>) -> Option<Range<usize>> {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let time = hit.run_within(hit.at.end, 8, belongs);
    if !matches!(time - hit.at.end, 6 | 7) || hit.bytes().get(time) != Some(&b'.') {
        return None;
    }
    let end = hit.short_run(time + 1, belongs);
    let before = &hit.bytes()[hit.free_from.min(hit.at.start)..hit.at.start];
    let id = before.iter().rev().take(32).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let begins = |start: &usize| {
        begins_word(hit.bytes(), *start) && is_number_in_base64(&hit.bytes()[*start..hit.at.start])
    };
    let start = (22..=id).rev().map(|length| hit.at.start - length).find(begins)?;
    (25..=80).contains(&(end - time - 1)).then_some(start..end)
}

/// Whether `text` may be decimal digits in base64: each position within four characters allows only a few characters.
fn is_number_in_base64(text: &[u8]) -> bool {
    let of: [&[u8]; 4] = [b"MNO", b"DTjzAQgw", b"AEIMQUYcgk", b"wxyz012345"];
    text.iter().zip(of.iter().cycle()).all(|(byte, of)| of.contains(byte))
}

/// The 32 digits after a Twilio account id, which have no form of their own.
fn twilio_token(hit: &Hit<'_>) -> Option<Range<usize>> {
    let mut at = hit.run_within(hit.at.end, 33, is_small_hex);
    if &hit.text[hit.at.clone()] != "AC" || at - hit.at.end != 32 || !hit.begins_word() {
        return None;
    }
    let end = hit.bytes().len().min(at + MAX_LOOKAHEAD);
    while at < end {
        let start = at + hit.bytes()[at..end].iter().position(|byte| is_small_hex(*byte))?;
        at = hit.run_within(start, 33, is_small_hex).max(start + 1);
        let begins = !hit.bytes()[start - 1].is_ascii_alphanumeric();
        let ends = hit.bytes().get(at).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        if at - start == 32 && begins && ends {
            return Some(start..at);
        }
    }
    None
}

/// The path of a webhook URL.
fn web_hook(hit: &Hit<'_>) -> Option<Range<usize>> {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-');
    let end = hit.short_run(hit.at.end, belongs);
    let found = end - hit.at.end >= 20 && looks_random(&hit.bytes()[hit.at.end..end]);
    found.then(|| hit.at.end..hit.run(hit.at.end, belongs))
}

/// The secret key after an access key: 40 characters without a form of their own.
fn secret_half(hit: &Hit<'_>) -> Option<Range<usize>> {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+');
    let mut at = hit.short_run(hit.at.start, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    if at - hit.at.start != 20 || !hit.begins_word() {
        return None;
    }
    let end = hit.bytes().len().min(at + MAX_LOOKAHEAD);
    while at < end {
        let start = at + hit.bytes()[at..end].iter().position(|byte| belongs(*byte))?;
        at = hit.short_run(start, belongs);
        if at - start == 40 && looks_random(&hit.bytes()[start..at]) {
            return Some(start..at);
        }
    }
    None
}

/// A private key, complete or truncated.
fn private_key(hit: &Hit<'_>) -> Option<Range<usize>> {
    let rest = &hit.text[hit.at.end..];
    let head = &rest.as_bytes()[..rest.len().min(MAX_LOOKAHEAD)];
    let label = head.windows(5).position(|window| window == b"-----")?;
    if !rest[..label].contains("PRIVATE") {
        return None;
    }
    let body = hit.at.end + label + 5;
    let end = hit.text[body..].find("-----END").map_or(hit.text.len(), |end| {
        let end = body + end + "-----END".len();
        hit.text[end..].find("-----").map_or(hit.text.len(), |dashes| end + dashes + 5)
    });
    Some(hit.at.start..end)
}

/// The end of a private key whose start was truncated.
fn private_key_without_its_beginning(hit: &Hit<'_>) -> Option<Range<usize>> {
    let rest = &hit.bytes()[hit.at.end..];
    let head = &rest[..rest.len().min(MAX_LOOKAHEAD)];
    let label = head.windows(5).position(|window| window == b"-----")?;
    if !head[..label].windows(7).any(|window| window == b"PRIVATE") {
        return None;
    }
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\{}\r\n\t ".contains(byte);
    let before = &hit.bytes()[hit.free_from.min(hit.at.start)..hit.at.start];
    let length = before.iter().rev().take_while(|byte| belongs(byte)).count();
    // Prose may precede the key: the lines of a key are long, except for the last one.
    let mut start = hit.at.start;
    for word in hit.text[hit.at.start - length..hit.at.start].split_inclusive([' ', '\n']).rev() {
        if word.trim().len() < 16 && start != hit.at.start && !word.trim().is_empty() {
            break;
        }
        start -= word.len();
    }
    Some(start..hit.at.end + label + 5)
}

/// The password in a URL. The user name is kept, unless it is a key.
fn address(hit: &Hit<'_>) -> Option<Range<usize>> {
    let ends = |byte: u8| byte.is_ascii_whitespace() || b"\"'`<>\\".contains(&byte);
    // Every anchor contains a slash, so that no byte is examined twice.
    let authority = hit.run(hit.at.end, |byte| !ends(byte) && !b"/?#".contains(&byte));
    let found = |end: usize| hit.bytes()[hit.at.end..end].iter().rposition(|byte| *byte == b'@');
    let colon = hit.bytes()[hit.at.end..authority].iter().position(|byte| *byte == b':');
    let length = found(authority).or_else(|| {
        // A password with a slash: the text after the colon is not a port.
        let port = hit.run(hit.at.end + colon? + 1, |byte| byte.is_ascii_digit());
        let wide = hit.short_run(hit.at.end, |byte| !ends(byte));
        if port == authority || mask_at(hit.text, hit.at.end + colon? + 1).is_some() {
            None
        } else {
            found(wide)
        }
    })?;
    let (start, end) = (hit.at.end, hit.at.end + length);
    let secret = match colon.filter(|colon| *colon < length) {
        Some(colon) => start + colon + 1..end,
        None if length >= 16 && looks_random(&hit.bytes()[start..end]) => start..end,
        None => return None,
    };
    let value = &hit.text[secret.clone()];
    (!value.is_empty() && !is_mask(value)).then_some(secret)
}
