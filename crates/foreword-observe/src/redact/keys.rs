//! Decides by its name whether a key holds a secret. Names are split into words: `apiKey`, `X-API-Key` and `API_KEY`
//! are equal. Does not examine values.

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};

/// How certain it is that the value of a key is secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sure {
    /// Any value.
    Always,
    /// Only a value that looks like a secret: the word also occurs in prose.
    IfLikely,
    /// A header value, which contains spaces.
    Header,
}

/// Words that mark a secret anywhere in a name, also inside other words.
const INSIDE: &str = "\
    password passwd passphrase passcode apikey secretkey accesskey privatekey accesstoken authtoken \
    refreshtoken apitoken bottoken sessiontoken clientsecret mnemonic seedphrase";
/// Words that mark a secret on their own.
const WORDS: &str = "secret secrets credential credentials pwd otp totp cvv cvc jwt bearer";
/// Last words of names that describe a secret without containing it.
const ABOUT: &str = "\
    file path stdin prompt type kind name names url uri count counts length len size policy required \
    expires expiry expiration ttl at id ids limit budget usage version status env in out style price \
    used left";
/// Last words of names that hold the secret in another form.
const FORMS: &str = "value text string header raw plain base64 b64 hash pem";
/// Words of names that hold token counts.
const COUNTED: &str = "\
    max min per total num number input output prompt completion cached estimated each last first stop \
    unexpected invalid unknown";
/// Kinds of keys that are not secret.
const PLAIN_KEYS: &str = "\
    public primary foreign sort partition cache idempotency dedupe row column lookup object group index \
    map hot unknown missing duplicate";
/// Kinds of keys that are secret.
const OPENING: &str = "api access secret private auth signing encryption ssh service refresh bot bearer";
/// Every name of a secret contains one of these. Names without any are not examined further.
const HINTS: [&str; 15] = [
    "seed",
    "key",
    "token",
    "secret",
    "pass",
    "pwd",
    "auth",
    "cookie",
    "credential",
    "signature",
    "otp",
    "cv",
    "jwt",
    "mnemonic",
    "bearer",
];
/// The maximum number of words examined, from the end of a name.
const MAX_WORDS: usize = 8;

/// The rules for keys.
#[derive(Debug)]
pub(super) struct SecretKeys {
    own: Vec<Glob>,
    /// Finds [`HINTS`].
    hints: AhoCorasick,
}

impl SecretKeys {
    pub(super) fn new(own: &[String]) -> Result<Self, BuildError> {
        let hints = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(HINTS)?;
        Ok(Self { own: own.iter().map(|glob| Glob::new(glob)).collect(), hints })
    }

    /// Whether the value of `key` is a secret.
    pub(super) fn judge(&self, key: &str) -> Option<Sure> {
        let known = self.hints.is_match(key).then(|| judge(key)).flatten();
        known.or_else(|| self.own.iter().any(|glob| glob.matches(key)).then_some(Sure::Always))
    }

    /// Strings of which one occurs in every key that only these rules match.
    pub(super) fn anchors(&self) -> impl Iterator<Item = &str> {
        self.own.iter().filter_map(Glob::longest)
    }
}

fn judge(key: &str) -> Option<Sure> {
    let mut found = NameParts::of(key);
    while found.get().len() > 1 && found.get().last().is_some_and(|word| one_of(word, FORMS)) {
        found.count -= 1;
    }
    let words = found.get();
    let (last, before) = words.split_last()?;
    let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
    let previous = before.last().copied().unwrap_or_default();
    if !before.is_empty() && one_of(last, ABOUT) && !(is(last, "id") && is(previous, "secret")) {
        return None;
    }
    if words.iter().any(|word| inside(word)) || pairs(words, "pass", "word phrase code wd") {
        return Some(Sure::Always);
    }
    if words.iter().any(|word| one_of(word, "authorization cookie cookies setcookie")) {
        return Some(Sure::Header);
    }
    let alone = before.is_empty();
    if words.iter().any(|word| one_of(word, WORDS)) || pairs(words, "seed", "phrase") {
        return Some(if alone { Sure::IfLikely } else { Sure::Always });
    }
    let secret = one_of(last, "auth pass")
        || (is(last, "token") && !before.iter().any(|word| one_of(word, COUNTED)))
        || (one_of(last, "tokens keys") && one_of(previous, OPENING))
        || (is(last, "key") && !alone && !one_of(previous, PLAIN_KEYS))
        || (is(last, "signature") && !alone);
    secret.then_some(if alone { Sure::IfLikely } else { Sure::Always })
}

fn one_of(word: &str, words: &str) -> bool {
    words.split(' ').any(|other| word.eq_ignore_ascii_case(other))
}

fn inside(word: &str) -> bool {
    INSIDE.split(' ').any(|part| {
        word.len() >= part.len()
            && word.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
    })
}

fn pairs(words: &[&str], first: &str, seconds: &str) -> bool {
    words.windows(2).any(|pair| pair[0].eq_ignore_ascii_case(first) && one_of(pair[1], seconds))
}

/// The last words of a name, without trailing numbers.
struct NameParts<'k> {
    words: [&'k str; MAX_WORDS],
    count: usize,
}

impl<'k> NameParts<'k> {
    fn of(key: &'k str) -> Self {
        let mut found = Self { words: [""; MAX_WORDS], count: 0 };
        for part in key.split(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric()) {
            let mut start = 0;
            for at in 1..part.len() {
                if begins_word(part.as_bytes(), at) {
                    found.push(&part[start..at]);
                    start = at;
                }
            }
            found.push(&part[start..]);
        }
        found
    }

    fn push(&mut self, word: &'k str) {
        let word = if word.len() > 3 && word.ends_with("64") {
            word
        } else {
            word.trim_end_matches(|c: char| c.is_ascii_digit())
        };
        if word.is_empty() {
            return;
        }
        if self.count == MAX_WORDS {
            self.words.rotate_left(1);
            self.count -= 1;
        }
        self.words[self.count] = word;
        self.count += 1;
    }

    fn get(&self) -> &[&'k str] {
        &self.words[..self.count]
    }
}

/// Whether a word of `camelCase` or `HTTPHeader` starts at `at`.
fn begins_word(part: &[u8], at: usize) -> bool {
    let upper = part[at].is_ascii_uppercase();
    let behind_lower = part[at - 1].is_ascii_lowercase() || part[at - 1].is_ascii_digit();
    let before_lower = part.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    upper && (behind_lower || (before_lower && part[at - 1].is_ascii_uppercase()))
}

/// A case-insensitive name pattern with `*` as the wildcard.
#[derive(Debug)]
struct Glob {
    parts: Vec<String>,
}

impl Glob {
    fn new(glob: &str) -> Self {
        Self { parts: glob.to_lowercase().split('*').map(str::to_owned).collect() }
    }

    /// The longest literal part of the pattern.
    fn longest(&self) -> Option<&str> {
        let longest = self.parts.iter().max_by_key(|part| part.len())?;
        (longest.len() >= 2).then_some(longest)
    }

    fn matches(&self, key: &str) -> bool {
        let key = key.to_lowercase();
        let [first, middle @ .., last] = self.parts.as_slice() else {
            return self.parts.first().is_some_and(|only| *only == key);
        };
        let Some(mut rest) = key.strip_prefix(first.as_str()) else { return false };
        for part in middle {
            let Some(at) = rest.find(part.as_str()) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secret_key_contains_a_hint() {
        let more = "authorization cookie cookies setcookie auth pass token tokens key keys signature pass_word seed_phrase";
        let keys = SecretKeys::new(&[]).unwrap();
        for word in [INSIDE, WORDS, more].into_iter().flat_map(|words| words.split_whitespace()) {
            assert!(keys.hints.is_match(word), "{word}");
            assert!(keys.hints.is_match(&word.to_ascii_uppercase()), "{word}");
        }
    }

    #[test]
    fn secret_keys_are_recognised_in_every_case_style() {
        for key in "password PASSWORD dbPassword db_passwd userpassword passWord password2 DB_PASS api_key \
             apiKey APIKey X-API-Key openaiapikey anthropic_key signing-key apiKeys authorization \
             Proxy-Authorization Set-Cookie cookies token access_token authToken GITHUB_TOKEN \
             refreshTokens secret clientSecret secret_id aws_secret_access_key credentials \
             private_key_pem apiKeyValue tokenValue X-Amz-Signature seedPhrase my.app.token auth \
             basic_auth passwordHash ssh_keys jwt next_page_token"
            .split(' ')
        {
            assert!(judge(key).is_some(), "{key}");
        }
    }

    #[test]
    fn counts_and_ordinary_keys_are_not_secrets() {
        for key in "tokens tokens_in totalTokens inputTokens max_tokens maxToken cost_per_token tokenCount \
             token_budget cacheReadTokens estimatedTokens tokenizer keyboard key keys monkey public_key \
             primaryKey prompt_cache_key idempotency-key accessKeyId token_type password_file \
             --password-stdin secret_name sessionId author authed secretary compass summaryTokens hash \
             inputToken"
            .split(' ')
        {
            assert_eq!(judge(key), None, "{key}");
        }
    }

    #[test]
    fn further_keys_are_globs_in_any_case() {
        let keys = SecretKeys::new(&["*_pin".to_owned(), "Badge".to_owned(), "x*y*z".to_owned()]).unwrap();
        for key in ["card_pin", "CARD_PIN", "badge", "xyz", "x1y2z"] {
            assert_eq!(keys.judge(key), Some(Sure::Always), "{key}");
        }
        for key in ["pin", "badges", "xzy", "card_pins"] {
            assert_eq!(keys.judge(key), None, "{key}");
        }
        assert_eq!(keys.anchors().collect::<Vec<_>>(), ["_pin", "badge"]);
    }

    #[test]
    fn letters_of_any_script_do_no_harm() {
        for key in ["ключ", "пароль_token", "é", "tokenÉ", "🔑", "ÉcoleApiKey"] {
            let _ = judge(key);
        }
        assert!(judge("ключ_token").is_some());
    }
}
