//! Where in a YAML text keys and headers' values may be: below `providers`, `headers`, `env` and `otlp` everything but
//! names and what is known to be harmless, elsewhere what stands behind a name such as `api_key`. A reader of shapes, not of YAML: it must not be
//! led astray by a text that is broken.

use std::ops::Range;

use foreword_core::provider::is_key_variable;

/// Names behind which a secret stands, wherever they are.
const SECRET: [&str; 8] =
    ["apikey", "xapikey", "key", "token", "secret", "password", "authorization", "credentials"];

/// Names below which every value may be secret.
const FULL_OF_SECRETS: [&str; 4] = ["providers", "headers", "env", "otlp"];

/// The bytes of `text` that may be secret, in order.
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
    /// What is indented further than this goes on with a secret.
    below: Option<usize>,
    /// How far the `providers` are indented that the scan is inside of.
    providers: Option<usize>,
}

/// What becomes of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Whole,
    IfHarmless,
    No,
}

impl Scan<'_> {
    /// Reads the line that begins at `start`, and further ones if brackets are open at its end. Gives the start of the
    /// next.
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

    /// Reads a name and its value, which begin at `at`. Gives the end of the value.
    fn entry(&mut self, at: usize, column: usize, depth: usize) -> usize {
        let inside = self.providers.is_some();
        let Some(name) = Name::at(&self.text[at..]) else {
            let shown = if inside { Shown::No } else { Shown::Whole };
            return self.value(at, (shown, ""), column, depth);
        };
        let value = at + name.length;
        if name.is_secret() {
            let end = self.value(value, (Shown::No, name.word), column, depth);
            self.below = if depth == 0 { Some(column) } else { None };
            return end;
        }
        if inside {
            return self.value(value, (Shown::IfHarmless, name.word), column, depth);
        }
        if name.word == "bearer_env" {
            return self.value(value, (Shown::IfHarmless, name.word), column, depth);
        }
        if !FULL_OF_SECRETS.contains(&name.word) {
            return self.value(value, (Shown::Whole, name.word), column, depth);
        }
        self.providers = Some(column);
        let end = self.value(value, (Shown::No, name.word), column, depth);
        // Without brackets around them it is not known where they end.
        if depth > 0 && self.text[value..].trim_start().starts_with(['{', '[']) {
            self.providers = None;
        }
        end
    }

    /// Reads the value that begins at `at`: brackets with all that is in them, or a text.
    fn value(&mut self, at: usize, (shown, name): (Shown, &str), column: usize, depth: usize) -> usize {
        let spaces = self.text[at..].len() - self.text[at..].trim_start_matches([' ', '\t']).len();
        let at = at + spaces;
        if self.text[at..].starts_with(['{', '[']) && depth < 64 {
            let secret = shown == Shown::No && !FULL_OF_SECRETS.contains(&name);
            return self.brackets(at + 1, secret, column, depth + 1);
        }
        let end = self.end_of_text(at, shown, depth);
        let visible = match shown {
            Shown::Whole => end - at,
            Shown::IfHarmless => harmless(name, &self.text[at..end]),
            Shown::No => 0,
        };
        self.hidden.push(at + visible..end);
        // A text may go on in the lines below it, if it has begun.
        if depth == 0 && self.providers.is_some() && end > at {
            self.below = Some(column);
        }
        end
    }

    /// Reads entries up to the bracket that closes. If the whole is `secret`, so is every entry.
    fn brackets(&mut self, mut at: usize, secret: bool, column: usize, depth: usize) -> usize {
        loop {
            let rest = &self.text[at..];
            at += rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',').len();
            match self.text[at..].chars().next() {
                None => return at,
                Some('}' | ']') => return at + 1,
                Some(_) if secret => at = self.value(at, (Shown::No, ""), column, depth).max(at + 1),
                Some(c) => at = self.entry(at, column, depth).max(at + c.len_utf8()),
            }
            while !self.text.is_char_boundary(at) {
                at += 1;
            }
        }
    }

    /// Where the text ends that begins at `at`: at the end of the line, or, in brackets, at a comma or a bracket. Quotes
    /// that may never be closed hide what follows them, but never show it.
    fn end_of_text(&self, at: usize, shown: Shown, depth: usize) -> usize {
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
                (Some(_), '\n') if shown == Shown::Whole => return at + offset,
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

/// A name with the colon behind it.
struct Name<'a> {
    word: &'a str,
    /// How long it is, quotes and colon included.
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
        SECRET.contains(&plain.as_str())
    }
}

/// How many bytes of `value`, which stands behind `name`, are certainly no secret.
fn harmless(name: &str, value: &str) -> usize {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let begin = quote.map_or(0, char::len_utf8);
    let ends = |c: char| c.is_whitespace() || Some(c) == quote;
    let word = &value[begin..][..value[begin..].find(ends).unwrap_or(value.len() - begin)];
    let all = word.len();
    let shown = match name {
        "dialect" if word.len() <= 16 && word.chars().all(|c| c.is_ascii_alphabetic()) => all,
        "api_key_env" | "bearer_env" if is_key_variable(word) => all,
        "connect_ms" | "first_byte_ms" | "idle_ms" => {
            let digits = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | '_');
            if word.len() <= 20 && word.chars().all(digits) { all } else { 0 }
        }
        // Before an `@` there may be a password, behind a `?` a key.
        "base_url" if word.contains('@') => word.find("://").map_or(0, |scheme| scheme + "://".len()),
        "base_url" => word.find(['?', '#']).unwrap_or(all),
        _ => 0,
    };
    let closed =
        if shown == all { value[begin + all..].chars().next().filter(|c| Some(*c) == quote) } else { None };
    if shown == 0 { 0 } else { begin + shown + closed.map_or(0, char::len_utf8) }
}

#[cfg(test)]
mod tests;
