//! Finds keys and header values in a YAML text. Below `providers`, `headers`, `env` and `otlp` everything is secret
//! except names and values known to be harmless; elsewhere only the values of keys such as `api_key`. A tolerant
//! scanner instead of a YAML parser, because the text may be invalid.

use std::ops::Range;

use foreword_core::provider::is_key_variable;

/// Keys whose values are secret everywhere.
const SECRET_KEYS: [&str; 8] =
    ["apikey", "xapikey", "key", "token", "secret", "password", "authorization", "credentials"];

/// Keys below which every value may be secret.
const SECRET_SECTIONS: [&str; 4] = ["providers", "headers", "env", "otlp"];

/// The byte ranges of `text` that may be secret, in order.
pub(crate) fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut scan = Scan { text, hidden: Vec::new(), below: None, providers: None };
    let mut at = 0;
    while at < text.len() {
        at = scan.line(at);
    }
    scan.hidden
}

struct Scan<'a> {
    text: &'a str,
    hidden: Vec<Range<usize>>,
    /// Lines indented further than this continue a secret.
    below: Option<usize>,
    /// The indentation of the enclosing `providers` section.
    providers: Option<usize>,
}

/// A value's key, and whether the value is shown.
struct Rule<'a> {
    visibility: Visibility,
    key: &'a str,
}

/// Whether a value is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visibility {
    Whole,
    IfHarmless,
    No,
}

impl Scan<'_> {
    /// Scans the line that starts at `start`, and further lines if brackets are open at its end. Returns the start of
    /// the next line.
    fn line(&mut self, start: usize) -> usize {
        let end = self.end_of_line(start);
        let content = start + indent(&self.text[start..end]);
        if content == end {
            return end + 1;
        }
        let column = content - start;
        if self.below.is_some_and(|below| column > below) {
            self.hidden.push(content..end);
            return end + 1;
        }
        self.below = None;
        if self.providers.is_some_and(|providers| column <= providers) {
            self.providers = None;
        }
        let content = content + self.text[content..end].len()
            - self.text[content..end].trim_start_matches(['-', ' ', '?']).len();
        let at = self.entry(content, column, 0);
        let rest = self.end_of_line(at);
        if self.providers.is_some() {
            self.hidden.push(at..rest);
        }
        rest + 1
    }

    /// Scans the key and value that start at `at`. Returns the end of the value.
    fn entry(&mut self, at: usize, column: usize, depth: usize) -> usize {
        let inside = self.providers.is_some();
        let Some(name) = Name::at(&self.text[at..]) else {
            let visibility = if inside { Visibility::No } else { Visibility::Whole };
            return self.value(at, Rule { visibility, key: "" }, column, depth);
        };
        let value = at + name.length;
        if name.is_secret() {
            let end = self.value(value, Rule { visibility: Visibility::No, key: name.word }, column, depth);
            self.below = if depth == 0 { Some(column) } else { None };
            return end;
        }
        if inside {
            return self.value(
                value,
                Rule { visibility: Visibility::IfHarmless, key: name.word },
                column,
                depth,
            );
        }
        if name.word == "bearer_env" {
            return self.value(
                value,
                Rule { visibility: Visibility::IfHarmless, key: name.word },
                column,
                depth,
            );
        }
        if !SECRET_SECTIONS.contains(&name.word) {
            return self.value(value, Rule { visibility: Visibility::Whole, key: name.word }, column, depth);
        }
        self.providers = Some(column);
        let end = self.value(value, Rule { visibility: Visibility::No, key: name.word }, column, depth);
        // Without brackets the end of the value is unknown.
        if depth > 0 && self.text[value..].trim_start().starts_with(['{', '[']) {
            self.providers = None;
        }
        end
    }

    /// Scans the value that starts at `at`: brackets with their content, or a scalar.
    fn value(&mut self, at: usize, rule: Rule<'_>, column: usize, depth: usize) -> usize {
        let Rule { visibility, key } = rule;
        let spaces = self.text[at..].len() - self.text[at..].trim_start_matches([' ', '\t']).len();
        let at = at + spaces;
        if self.text[at..].starts_with(['{', '[']) && depth < 64 {
            let secret = visibility == Visibility::No && !SECRET_SECTIONS.contains(&key);
            return self.brackets(at + 1, secret, column, depth + 1);
        }
        let end = self.end_of_text(at, visibility, depth);
        let visible = match visibility {
            Visibility::Whole => end - at,
            Visibility::IfHarmless => harmless(key, &self.text[at..end]),
            Visibility::No => 0,
        };
        self.hidden.push(at + visible..end);
        // A scalar may continue on the following lines.
        if depth == 0 && self.providers.is_some() && end > at {
            self.below = Some(column);
        }
        end
    }

    /// Scans entries up to the closing bracket. If the whole is `secret`, every entry is.
    fn brackets(&mut self, mut at: usize, secret: bool, column: usize, depth: usize) -> usize {
        loop {
            let rest = &self.text[at..];
            at += rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',').len();
            match self.text[at..].chars().next() {
                None => return at,
                Some('}' | ']') => return at + 1,
                Some(_) if secret => {
                    at = self
                        .value(at, Rule { visibility: Visibility::No, key: "" }, column, depth)
                        .max(at + 1)
                }
                Some(c) => at = self.entry(at, column, depth).max(at + c.len_utf8()),
            }
            while !self.text.is_char_boundary(at) {
                at += 1;
            }
        }
    }

    /// The end of the scalar that starts at `at`: the end of the line, or, in brackets, a comma or a bracket. Unclosed
    /// quotes hide the text after them and never reveal it.
    fn end_of_text(&self, at: usize, visibility: Visibility, depth: usize) -> usize {
        if depth == 0 {
            return self.end_of_line(at);
        }
        let rest = &self.text[at..];
        let mut quote = None;
        let mut escaped = false;
        for (offset, c) in rest.char_indices() {
            match (quote, c) {
                (Some('"'), '\\') if !escaped => {
                    escaped = true;
                    continue;
                }
                (Some(open), c) if c == open && !escaped => quote = None,
                (None, '"' | '\'') if offset == 0 => quote = Some(c),
                (None, ',' | '}' | ']' | '{' | '[' | '\n') => return at + offset,
                (Some(_), '\n') if visibility == Visibility::Whole => return at + offset,
                _ => {}
            }
            escaped = false;
        }
        self.text.len()
    }

    fn end_of_line(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        self.text[at..].find('\n').map_or(self.text.len(), |offset| at + offset)
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A key with its colon.
struct Name<'a> {
    word: &'a str,
    /// Its length, quotes and colon included.
    length: usize,
}

impl<'a> Name<'a> {
    fn at(text: &'a str) -> Option<Self> {
        let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
        let begin = quote.map_or(0, char::len_utf8);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let length = text[begin..].find(|c: char| !plain(c)).unwrap_or(text.len() - begin);
        let word = &text[begin..begin + length];
        let mut rest = &text[begin + length..];
        if let Some(quote) = quote {
            rest = rest.strip_prefix(quote)?;
        }
        let rest = rest.trim_start_matches(' ').strip_prefix(':')?;
        let name = Self { word, length: text.len() - rest.len() };
        let apart = quote.is_some() || rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace());
        (!word.is_empty() && (apart || name.is_secret())).then_some(name)
    }

    fn is_secret(&self) -> bool {
        let plain: String =
            self.word.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
        SECRET_KEYS.contains(&plain.as_str())
    }
}

/// How many bytes of `value`, the value of `name`, are certainly no secret.
fn harmless(name: &str, value: &str) -> usize {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let begin = quote.map_or(0, char::len_utf8);
    let ends = |c: char| c.is_whitespace() || Some(c) == quote;
    let word = &value[begin..][..value[begin..].find(ends).unwrap_or(value.len() - begin)];
    let all = word.len();
    let visibility = match name {
        "dialect" if word.len() <= 16 && word.chars().all(|c| c.is_ascii_alphabetic()) => all,
        "api_key_env" | "bearer_env" if is_key_variable(word) => all,
        "connect_ms" | "first_byte_ms" | "idle_ms" => {
            let digits = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | '_');
            if word.len() <= 20 && word.chars().all(digits) { all } else { 0 }
        }
        // A password may precede an `@`, and a key may follow a `?`.
        "base_url" if word.contains('@') => word.find("://").map_or(0, |scheme| scheme + "://".len()),
        "base_url" => word.find(['?', '#']).unwrap_or(all),
        _ => 0,
    };
    let closed = if visibility == all {
        value[begin + all..].chars().next().filter(|c| Some(*c) == quote)
    } else {
        None
    };
    if visibility == 0 { 0 } else { begin + visibility + closed.map_or(0, char::len_utf8) }
}

#[cfg(test)]
mod tests;
