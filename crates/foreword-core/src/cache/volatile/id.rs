//! Detects random ids: UUIDs, ULIDs, hexadecimal or mixed letters, numbers after a word like `seed`.

/// The form of a random id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdForm {
    /// `3f2b8c1e-9d4a-4c6f-8b2e-1a2b3c4d5e6f`, any version.
    Uuid,
    /// `01JWZ8N4T2V9Q6K3R5X7Y1B0CD`.
    Ulid,
    /// Hexadecimal digits.
    Hex,
    /// Letters and digits that form no words.
    Letters,
    /// A number after a word such as `seed`.
    Number,
}

impl IdForm {
    /// The description used in messages.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Uuid => "a UUID",
            Self::Ulid => "a ULID",
            Self::Hex => "a hexadecimal id",
            Self::Letters => "a random id",
            Self::Number => "a random number",
        }
    }
}

/// Words that mark the following short value as an id.
const ID_WORDS: [&[u8]; 11] =
    [b"id", b"nonce", b"session", b"request", b"trace", b"seed", b"salt", b"token", b"uuid", b"cch", b"run"];

/// The id that starts at `start`, and its end.
pub(super) fn at(text: &[u8], start: usize) -> Option<(IdForm, usize)> {
    if let Some(end) = uuid(text, start) {
        return Some((IdForm::Uuid, end));
    }
    let length =
        text[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let end = start + length;
    let word = &text[start..end];
    // For `req_…`, the prefix names the kind of id.
    let body = word.rsplit(|byte| *byte == b'_').next().unwrap_or(word);
    form(body, follows_id_word(&text[..start])).map(|form| (form, end))
}

fn uuid(text: &[u8], start: usize) -> Option<usize> {
    let end = start + 36;
    let word = text.get(start..end)?;
    let sound = word.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (sound && !text.get(end).is_some_and(u8::is_ascii_alphanumeric)).then_some(end)
}

fn form(body: &[u8], named: bool) -> Option<IdForm> {
    let count = |is: fn(&u8) -> bool| body.iter().filter(|byte| is(byte)).count();
    let digits = count(u8::is_ascii_digit);
    let letters = body.len() - digits;
    let hex = count(u8::is_ascii_hexdigit) == body.len();
    if body.len() == 26 && digits >= 3 && letters >= 3 && body[0] <= b'7' && body.iter().all(is_crockford) {
        return Some(IdForm::Ulid);
    }
    if hex && digits >= 2 && letters >= 2 && (body.len() >= 12 || (named && body.len() >= 6)) {
        return Some(IdForm::Hex);
    }
    let mixed = count(u8::is_ascii_lowercase) > 0 && count(u8::is_ascii_uppercase) > 0 && digits >= 2;
    if body.len() >= 16 && letters > 0 && (mixed || changes_of_kind(body) >= 4) {
        return Some(IdForm::Letters);
    }
    match named && body.len() >= 6 && digits > 0 {
        true if letters == 0 => Some(IdForm::Number),
        true if digits >= 2 && changes_of_kind(body) >= 2 => Some(IdForm::Letters),
        _ => None,
    }
}

fn is_crockford(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() && !matches!(byte.to_ascii_uppercase(), b'I' | b'L' | b'O' | b'U')
}

/// How often a letter and a digit are adjacent.
fn changes_of_kind(body: &[u8]) -> usize {
    body.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count()
}

/// Whether a word like `nonce` precedes, with at most a few other characters between.
fn follows_id_word(before: &[u8]) -> bool {
    let signs = before.iter().rev().take(4).take_while(|byte| !byte.is_ascii_alphanumeric()).count();
    let word_end = before.len() - signs;
    let letters = before[..word_end].iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let word = before[word_end - letters..word_end].to_ascii_lowercase();
    signs > 0 && ID_WORDS.iter().any(|known| *known == word || (known.len() > 2 && word.ends_with(known)))
}
