//! Finds the parts of a JSON text without reading it: where the members of an object and the items of an array begin and
//! end. Long texts are skipped at the speed of memory, and nothing is copied. Of a text that is no JSON it may say that it
//! found parts; whoever answers it will say what is wrong with it. It never looks outside the text and never panics.

use std::borrow::Cow;
use std::ops::Range;

/// How deep values may be nested in one another: as deep as the usual readers go.
const DEEPEST: u32 = 127;

/// Why a text could not be taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotRead {
    /// It is something else than a JSON object.
    #[error("it is no JSON object")]
    NoObject,
    /// It is no JSON from there on.
    #[error("it is no JSON from byte {0} on")]
    Broken(usize),
    /// Its values are nested too deep.
    #[error("its values are nested more than {DEEPEST} deep")]
    TooDeep,
}

/// One member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member<'a> {
    /// Its name.
    pub(crate) key: Cow<'a, str>,
    /// Where its value is, in the whole text.
    pub(crate) value: Range<usize>,
}

/// The members of the object that begins at `object.start`, which is a `{`.
pub(crate) fn members<'a>(bytes: &'a [u8], object: &Range<usize>) -> Members<'a> {
    let bytes = &bytes[..object.end.min(bytes.len())];
    Members(Parts { bytes, at: object.start, state: opened(bytes, object.start, b'{') })
}

/// The items of the array that begins at `array.start`, which is a `[`.
pub(crate) fn items<'a>(bytes: &'a [u8], array: &Range<usize>) -> Items<'a> {
    let bytes = &bytes[..array.end.min(bytes.len())];
    Items(Parts { bytes, at: array.start, state: opened(bytes, array.start, b'[') })
}

/// The members of an object, in their order.
pub(crate) struct Members<'a>(Parts<'a>);

/// The items of an array, in their order.
pub(crate) struct Items<'a>(Parts<'a>);

impl<'a> Members<'a> {
    /// Where the object ends, once all its members have been seen.
    pub(crate) fn end(&self) -> usize {
        self.0.at
    }

    /// The next member, where `end` finds the end of its value, given its name and where that begins.
    pub(crate) fn next_with(
        &mut self,
        end: impl FnOnce(&'a [u8], &str, usize) -> Result<usize, NotRead>,
    ) -> Option<Result<Member<'a>, NotRead>> {
        self.0.next(b'}', |bytes, at| {
            let key_end = if bytes.get(at) == Some(&b'"') {
                end_of_string(bytes, at)?
            } else {
                return Err(NotRead::Broken(at));
            };
            let key = text(&bytes[at..key_end]).ok_or(NotRead::Broken(at))?;
            let colon = after_space(bytes, key_end);
            if bytes.get(colon) != Some(&b':') {
                return Err(NotRead::Broken(colon));
            }
            let start = after_space(bytes, colon + 1);
            let value = start..end(bytes, &key, start)?;
            Ok((value.end, Member { key, value }))
        })
    }
}

impl Items<'_> {
    /// Where the array ends, once all its items have been seen.
    pub(crate) fn end(&self) -> usize {
        self.0.at
    }

    /// Whether all of them have been seen, and nothing was wrong with them.
    pub(crate) fn is_whole(&self) -> bool {
        self.0.state == State::Done
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<Member<'a>, NotRead>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_with(|bytes, _, start| end_of_value(bytes, start))
    }
}

impl Iterator for Items<'_> {
    type Item = Result<Range<usize>, NotRead>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(b']', |bytes, start| {
            let end = end_of_value(bytes, start)?;
            Ok((end, start..end))
        })
    }
}

/// What stands between two brackets, with commas between.
struct Parts<'a> {
    bytes: &'a [u8],
    at: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the opening bracket.
    Opened,
    /// Behind a part.
    Behind,
    /// At the end.
    Done,
    /// Where it can't be read any further.
    Broken,
    /// It is no such value at all.
    Refused,
}

fn opened(bytes: &[u8], at: usize, bracket: u8) -> State {
    if bytes.get(at) == Some(&bracket) { State::Opened } else { State::Refused }
}

impl<'a> Parts<'a> {
    fn next<T>(
        &mut self,
        close: u8,
        part: impl FnOnce(&'a [u8], usize) -> Result<(usize, T), NotRead>,
    ) -> Option<Result<T, NotRead>> {
        let read = match self.state {
            State::Done | State::Broken => return None,
            State::Refused => Err(NotRead::Broken(self.at)),
            State::Opened => self.first(close),
            State::Behind => self.further(close),
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

    /// Where the first part begins, if there is one.
    fn first(&mut self, close: u8) -> Result<Option<usize>, NotRead> {
        let at = after_space(self.bytes, self.at + 1);
        if self.bytes.get(at) == Some(&close) {
            self.at = at + 1;
            return Ok(None);
        }
        Ok(Some(at))
    }

    /// Where the next part begins, if there is one.
    fn further(&mut self, close: u8) -> Result<Option<usize>, NotRead> {
        let at = after_space(self.bytes, self.at);
        match self.bytes.get(at) {
            Some(b',') => Ok(Some(after_space(self.bytes, at + 1))),
            Some(byte) if *byte == close => {
                self.at = at + 1;
                Ok(None)
            }
            _ => Err(NotRead::Broken(at)),
        }
    }
}

/// The first byte from `at` on that is no space.
pub(crate) fn after_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
    at + spaces
}

/// What a JSON string says, quotes included in `bytes`.
pub(crate) fn text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let inside = bytes.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inside).is_none() {
        return std::str::from_utf8(inside).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice(bytes).ok().map(Cow::Owned)
}

/// Where the value ends that begins at `at`.
pub(crate) fn end_of_value(bytes: &[u8], at: usize) -> Result<usize, NotRead> {
    match bytes.get(at) {
        Some(b'"') => end_of_string(bytes, at),
        Some(b'{' | b'[') => end_of_nested(bytes, at),
        Some(b't') => end_of_word(bytes, at, b"true"),
        Some(b'f') => end_of_word(bytes, at, b"false"),
        Some(b'n') => end_of_word(bytes, at, b"null"),
        Some(b'-' | b'0'..=b'9') => Ok(end_of_number(bytes, at)),
        _ => Err(NotRead::Broken(at)),
    }
}

fn end_of_word(bytes: &[u8], at: usize, word: &[u8]) -> Result<usize, NotRead> {
    if bytes[at..].starts_with(word) { Ok(at + word.len()) } else { Err(NotRead::Broken(at)) }
}

fn end_of_number(bytes: &[u8], at: usize) -> usize {
    let is_digit = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    at + bytes[at..].iter().take_while(is_digit).count()
}

/// Where the string ends whose quote is at `at`. Quotes are looked for, and the backslashes before one are counted: texts
/// have many escaped line ends and few escaped quotes.
fn end_of_string(bytes: &[u8], at: usize) -> Result<usize, NotRead> {
    let start = at + 1;
    let mut from = start;
    while let Some(found) = memchr::memchr(b'"', bytes.get(from..).unwrap_or_default()) {
        let quote = from + found;
        // What is before `from` is a quote or the beginning, so none is counted twice.
        let escapes = bytes[from..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
        from = quote + 1;
        if escapes % 2 == 0 {
            return Ok(from);
        }
    }
    Err(NotRead::Broken(at))
}

/// Where the object or array ends that begins at `at`. Which brackets are open is kept as bits.
fn end_of_nested(bytes: &[u8], mut at: usize) -> Result<usize, NotRead> {
    let (mut open, mut depth) = (0_u128, 0_u32);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(bytes, at)?;
                continue;
            }
            b'{' | b'[' => {
                if depth == DEEPEST {
                    return Err(NotRead::TooDeep);
                }
                open = (open << 1) | u128::from(*byte == b'{');
                depth += 1;
            }
            b'}' | b']' => {
                if (open & 1 == 1) != (*byte == b'}') {
                    return Err(NotRead::Broken(at));
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
    Err(NotRead::Broken(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Result<Vec<(String, String)>, NotRead> {
        let all = 0..text.len();
        members(text.as_bytes(), &all)
            .map(|member| member.map(|member| (member.key.into_owned(), text[member.value].to_owned())))
            .collect()
    }

    #[test]
    fn members_are_found_whatever_is_in_them() {
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
    fn what_is_no_json_is_refused_where_it_breaks() {
        let check = |text: &str, expected: NotRead| assert_eq!(keys(text), Err(expected), "{text}");
        check("", NotRead::Broken(0));
        check("[]", NotRead::Broken(0));
        check("{", NotRead::Broken(1));
        check(r#"{"a"}"#, NotRead::Broken(4));
        check(r#"{"a":}"#, NotRead::Broken(5));
        check(r#"{"a":1"#, NotRead::Broken(6));
        check(r#"{"a":1,}"#, NotRead::Broken(7));
        check(r#"{"a":1 "b":2}"#, NotRead::Broken(7));
        check(r#"{"a":[}}"#, NotRead::Broken(6));
        check(r#"{"a":"\"}"#, NotRead::Broken(5));
        check(r#"{"\ud800":1}"#, NotRead::Broken(1));
        check(r#"{"a":nul}"#, NotRead::Broken(5));
        let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(keys(&deep(127)).is_ok());
        check(&deep(128), NotRead::TooDeep);
    }
}
