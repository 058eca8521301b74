//! Locates the members of JSON objects and the items of arrays without parsing their values. Skips long strings with
//! SIMD and copies nothing. Accepts some invalid JSON, which the provider will reject. Never reads out of bounds and
//! never panics.

use std::borrow::Cow;
use std::ops::Range;

/// The maximum nesting depth, as in common parsers.
const MAX_DEPTH: u32 = 127;

/// Why a text can't be scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ScanError {
    #[error("it is not a JSON object")]
    NotAnObject,
    /// Invalid JSON at this byte.
    #[error("invalid JSON at byte {0}")]
    InvalidJson(usize),
    #[error("values are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member<'a> {
    pub(crate) key: Cow<'a, str>,
    /// The range of its value in the whole text.
    pub(crate) value: Range<usize>,
}

/// The members of the object at `object.start`.
pub(crate) fn members<'a>(bytes: &'a [u8], object: &Range<usize>) -> Members<'a> {
    let bytes = &bytes[..object.end.min(bytes.len())];
    Members(Parts { bytes, at: object.start, state: opened(bytes, object.start, b'{') })
}

/// The items of the array at `array.start`.
pub(crate) fn items<'a>(bytes: &'a [u8], array: &Range<usize>) -> Items<'a> {
    let bytes = &bytes[..array.end.min(bytes.len())];
    Items(Parts { bytes, at: array.start, state: opened(bytes, array.start, b'[') })
}

pub(crate) struct Members<'a>(Parts<'a>);

pub(crate) struct Items<'a>(Parts<'a>);

impl<'a> Members<'a> {
    /// The end of the object, after the last member was read.
    pub(crate) fn end(&self) -> usize {
        self.0.at
    }

    /// The next member; `end` finds the end of its value from its name and start.
    pub(crate) fn next_with(
        &mut self,
        end: impl FnOnce(&'a [u8], &str, usize) -> Result<usize, ScanError>,
    ) -> Option<Result<Member<'a>, ScanError>> {
        self.0.next(b'}', |bytes, at| {
            let key_end = if bytes.get(at) == Some(&b'"') {
                end_of_string(bytes, at)?
            } else {
                return Err(ScanError::InvalidJson(at));
            };
            let key = text(&bytes[at..key_end]).ok_or(ScanError::InvalidJson(at))?;
            let colon = skip_whitespace(bytes, key_end);
            if bytes.get(colon) != Some(&b':') {
                return Err(ScanError::InvalidJson(colon));
            }
            let start = skip_whitespace(bytes, colon + 1);
            let value = start..end(bytes, &key, start)?;
            Ok((value.end, Member { key, value }))
        })
    }
}

impl Items<'_> {
    /// The end of the array, after the last item was read.
    pub(crate) fn end(&self) -> usize {
        self.0.at
    }

    /// Whether all items were read without an error.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.state == State::Done
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<Member<'a>, ScanError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_with(|bytes, _, start| end_of_value(bytes, start))
    }
}

impl Iterator for Items<'_> {
    type Item = Result<Range<usize>, ScanError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(b']', |bytes, start| {
            let end = end_of_value(bytes, start)?;
            Ok((end, start..end))
        })
    }
}

/// The comma-separated parts between two brackets.
struct Parts<'a> {
    bytes: &'a [u8],
    at: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the opening bracket.
    Opened,
    /// After a part.
    Behind,
    /// At the end.
    Done,
    /// After an error.
    Broken,
    /// Not such a value.
    Refused,
}

fn opened(bytes: &[u8], at: usize, bracket: u8) -> State {
    if bytes.get(at) == Some(&bracket) { State::Opened } else { State::Refused }
}

impl<'a> Parts<'a> {
    fn next<T>(
        &mut self,
        close: u8,
        part: impl FnOnce(&'a [u8], usize) -> Result<(usize, T), ScanError>,
    ) -> Option<Result<T, ScanError>> {
        let read = match self.state {
            State::Done | State::Broken => return None,
            State::Refused => Err(ScanError::InvalidJson(self.at)),
            State::Opened => self.first(close),
            State::Behind => self.following(close),
        };
        let found = match read {
            Ok(Some(start)) => part(self.bytes, start),
            Ok(None) => {
                self.state = State::Done;
                return None;
            }
            Err(error) => Err(error),
        };
        let (end, found) = match found {
            Ok(found) => found,
            Err(error) => {
                self.state = State::Broken;
                return Some(Err(error));
            }
        };
        (self.at, self.state) = (end, State::Behind);
        Some(Ok(found))
    }

    /// The start of the first part, if any.
    fn first(&mut self, close: u8) -> Result<Option<usize>, ScanError> {
        let at = skip_whitespace(self.bytes, self.at + 1);
        if self.bytes.get(at) == Some(&close) {
            self.at = at + 1;
            return Ok(None);
        }
        Ok(Some(at))
    }

    /// The start of the next part, if any.
    fn following(&mut self, close: u8) -> Result<Option<usize>, ScanError> {
        let at = skip_whitespace(self.bytes, self.at);
        match self.bytes.get(at) {
            Some(b',') => Ok(Some(skip_whitespace(self.bytes, at + 1))),
            Some(byte) if *byte == close => {
                self.at = at + 1;
                Ok(None)
            }
            _ => Err(ScanError::InvalidJson(at)),
        }
    }
}

/// The index of the first non-whitespace byte from `at` on.
pub(crate) fn skip_whitespace(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
    at + spaces
}

/// The value of a JSON string; `bytes` includes the quotes.
pub(crate) fn text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let inside = bytes.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inside).is_none() {
        return std::str::from_utf8(inside).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice(bytes).ok().map(Cow::Owned)
}

/// The end of the value at `at`.
pub(crate) fn end_of_value(bytes: &[u8], at: usize) -> Result<usize, ScanError> {
    match bytes.get(at) {
        Some(b'"') => end_of_string(bytes, at),
        Some(b'{' | b'[') => end_of_nested(bytes, at),
        Some(b't') => end_of_word(bytes, at, b"true"),
        Some(b'f') => end_of_word(bytes, at, b"false"),
        Some(b'n') => end_of_word(bytes, at, b"null"),
        Some(b'-' | b'0'..=b'9') => Ok(end_of_number(bytes, at)),
        _ => Err(ScanError::InvalidJson(at)),
    }
}

fn end_of_word(bytes: &[u8], at: usize, word: &[u8]) -> Result<usize, ScanError> {
    if bytes[at..].starts_with(word) { Ok(at + word.len()) } else { Err(ScanError::InvalidJson(at)) }
}

fn end_of_number(bytes: &[u8], at: usize) -> usize {
    let is_digit = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    at + bytes[at..].iter().take_while(is_digit).count()
}

/// The end of the string whose opening quote is at `at`. Searches for quotes and counts the backslashes before them,
/// since escaped quotes are rare.
fn end_of_string(bytes: &[u8], at: usize) -> Result<usize, ScanError> {
    let start = at + 1;
    let mut from = start;
    while let Some(found) = memchr::memchr(b'"', bytes.get(from..).unwrap_or_default()) {
        let quote = from + found;
        // The byte before `from` is a quote or the start, so no backslash is counted twice.
        let escapes = bytes[from..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
        from = quote + 1;
        if escapes % 2 == 0 {
            return Ok(from);
        }
    }
    Err(ScanError::InvalidJson(at))
}

/// The end of the object or array at `at`. Open brackets are tracked as bits.
fn end_of_nested(bytes: &[u8], mut at: usize) -> Result<usize, ScanError> {
    let (mut open, mut depth) = (0_u128, 0_u32);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(bytes, at)?;
                continue;
            }
            b'{' | b'[' => {
                if depth == MAX_DEPTH {
                    return Err(ScanError::TooDeep);
                }
                open = (open << 1) | u128::from(*byte == b'{');
                depth += 1;
            }
            b'}' | b']' => {
                if (open & 1 == 1) != (*byte == b'}') {
                    return Err(ScanError::InvalidJson(at));
                }
                open >>= 1;
                depth -= 1;
                if depth == 0 {
                    return Ok(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    Err(ScanError::InvalidJson(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Result<Vec<(String, String)>, ScanError> {
        let all = 0..text.len();
        members(text.as_bytes(), &all)
            .map(|member| member.map(|member| (member.key.into_owned(), text[member.value].to_owned())))
            .collect()
    }

    #[test]
    fn members_with_any_value_are_found() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            let expected: Vec<_> = expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            assert_eq!(keys(text), Ok(expected), "{text}");
        };
        check("{}", &[]);
        check("{ \n}", &[]);
        check(r#"{"a":1}"#, &[("a", "1")]);
        check(
            r#"{ "a" : -1.5e+3 , "b":[{}, "]"],"c" : null }"#,
            &[("a", "-1.5e+3"), ("b", r#"[{}, "]"]"#), ("c", "null")],
        );
        check(
            r#"{"a":"\\","b":"\"}","c":"\\\""}"#,
            &[("a", r#""\\""#), ("b", r#""\"}""#), ("c", r#""\\\"""#)],
        );
        check(r#"{"m\u006fdel":true}"#, &[("model", "true")]);
    }

    #[test]
    fn invalid_json_is_refused_with_its_position() {
        let check = |text: &str, expected: ScanError| assert_eq!(keys(text), Err(expected), "{text}");
        check("", ScanError::InvalidJson(0));
        check("[]", ScanError::InvalidJson(0));
        check("{", ScanError::InvalidJson(1));
        check(r#"{"a"}"#, ScanError::InvalidJson(4));
        check(r#"{"a":}"#, ScanError::InvalidJson(5));
        check(r#"{"a":1"#, ScanError::InvalidJson(6));
        check(r#"{"a":1,}"#, ScanError::InvalidJson(7));
        check(r#"{"a":1 "b":2}"#, ScanError::InvalidJson(7));
        check(r#"{"a":[}}"#, ScanError::InvalidJson(6));
        check(r#"{"a":"\"}"#, ScanError::InvalidJson(5));
        check(r#"{"\ud800":1}"#, ScanError::InvalidJson(1));
        check(r#"{"a":nul}"#, ScanError::InvalidJson(5));
        let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(keys(&deep(127)).is_ok());
        check(&deep(128), ScanError::TooDeep);
    }
}
