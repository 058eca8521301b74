//! Passwords in command lines after a single-letter option. Only few programs use `-p` for a password, so the scan
//! finds the program first.

use std::ops::Range;

use super::hit::{Hit, MAX_LOOKAHEAD};
use super::mask::is_mask;

/// The maximum number of bytes examined of a command line.
const MAX_LINE_LEN: usize = 512;

/// A program, its password option, and the position of the password.
type Program = (&'static str, &'static str, Where);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// Directly after the option.
    Joined,
    /// With or without a space.
    Either,
    /// After a user name and a colon.
    BehindUser,
}

pub(super) const PROGRAMS: [Program; 9] = [
    ("mysql", "-p", Where::Joined),
    ("mariadb", "-p", Where::Joined),
    ("sshpass", "-p", Where::Either),
    ("docker login", "-p", Where::Either),
    ("podman login", "-p", Where::Either),
    ("redis-cli", "-a", Where::Either),
    ("ldapsearch", "-w", Where::Either),
    ("curl", "-u", Where::BehindUser),
    ("curl", "--user", Where::BehindUser),
];

/// The password in the command line of the program.
pub(super) fn find(hit: &Hit<'_>, letter: &str, place: Where) -> Option<Range<usize>> {
    if !hit.begins_word() {
        return None;
    }
    let line_end = hit.run_within(hit.at.end, MAX_LINE_LEN, |byte| !matches!(byte, b'\n' | b'|' | b';'));
    let mut from = hit.at.end;
    while let Some(found) =
        hit.bytes().get(from..line_end)?.windows(letter.len()).position(|w| w == letter.as_bytes())
    {
        let at = from + found;
        from = at + letter.len();
        if hit.bytes()[at - 1].is_ascii_whitespace()
            && let Some(range) = argument(hit, from, place)
        {
            return Some(range);
        }
    }
    None
}

fn argument(hit: &Hit<'_>, behind: usize, place: Where) -> Option<Range<usize>> {
    let start = hit.short_run(behind, |byte| matches!(byte, b' ' | b'=') && place != Where::Joined);
    let quote = hit.bytes().get(start).copied().filter(|byte| matches!(byte, b'"' | b'\''));
    let start = start + usize::from(quote.is_some());
    let ends = |byte: u8| match quote {
        Some(quote) => byte == quote,
        None => byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\'),
    };
    let end = hit.run(start, |byte| !ends(byte));
    let start = match place {
        Where::BehindUser => start + hit.text[start..end].find(':')? + 1,
        Where::Joined | Where::Either => start,
    };
    let value = &hit.text[start..end];
    let looks_like_option = value.starts_with('-') || value.starts_with('$');
    (!value.is_empty() && value.len() < MAX_LOOKAHEAD && !looks_like_option && !is_mask(value))
        .then_some(start..end)
}
