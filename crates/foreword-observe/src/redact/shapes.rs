//! Secrets recognised by their prefix. Each row has the prefix, the characters of the rest, and its minimum length.
//! Prefixes that ordinary words also have must start a word and look random.

use std::ops::Range;

use super::hit::{Hit, MAX_LOOKAHEAD, longest_piece, looks_random};

/// The form of a secret after its prefix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// The prefix, case-sensitive.
    pub(super) begins: &'static str,
    /// The minimum number of bytes after the prefix.
    shortest: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The prefix is unique to secrets.
    Sure,
    /// The prefix also occurs in words: a long run with a digit must follow.
    Piece,
    /// Exactly this number of capitals and digits.
    Capitals,
    /// Exactly this number of lower-case hexadecimal digits.
    Hex,
    /// Lower-case letters and digits that need not look random: every match is a secret.
    Plain,
}

const fn sure(begins: &'static str, shortest: usize) -> Shape {
    Shape { begins, shortest, kind: Kind::Sure }
}

const fn piece(begins: &'static str, shortest: usize) -> Shape {
    Shape { begins, shortest, kind: Kind::Piece }
}

const fn hex(begins: &'static str, shortest: usize) -> Shape {
    Shape { begins, shortest, kind: Kind::Hex }
}

const fn plain(begins: &'static str, shortest: usize) -> Shape {
    Shape { begins, shortest, kind: Kind::Plain }
}

const fn capitals(begins: &'static str, shortest: usize) -> Shape {
    Shape { begins, shortest, kind: Kind::Capitals }
}

/// All shapes, by issuer.
pub(super) const SHAPES: [Shape; 67] = [
    // Our own tokens have 32 characters; a truncated one is redacted too.
    plain("fwd_", 24),
    // Model providers.
    sure("sk-ant-", 8),
    sure("sk-proj-", 8),
    sure("sk-svcacct-", 8),
    sure("sk-admin-", 12),
    sure("sk-or-v1-", 8),
    sure("sk-lf-", 16),
    piece("sk-", 16),
    sure("xai-", 24),
    sure("gsk_", 20),
    sure("nvapi-", 20),
    sure("pplx-", 20),
    piece("hf_", 20),
    piece("r8_", 20),
    sure("tgp_v1_", 16),
    // Code hosts and package registries.
    sure("ghp_", 16),
    sure("gho_", 16),
    sure("ghu_", 16),
    sure("ghs_", 16),
    sure("ghr_", 16),
    sure("github_pat_", 16),
    sure("glpat-", 16),
    sure("gldt-", 16),
    sure("glrt-", 16),
    sure("glptt-", 16),
    sure("glsoat-", 16),
    sure("glcbt-", 16),
    sure("glft-", 16),
    sure("glagent-", 16),
    sure("npm_", 30),
    sure("pypi-AgEI", 16),
    sure("dckr_pat_", 16),
    // Chat services.
    sure("xoxb-", 10),
    sure("xoxp-", 10),
    sure("xoxa-", 10),
    sure("xoxr-", 10),
    sure("xoxs-", 10),
    sure("xoxc-", 10),
    sure("xoxd-", 10),
    sure("xoxe-", 10),
    sure("xoxe.", 10),
    sure("xapp-", 10),
    sure("SG.", 32),
    // A Twilio API key and a Discord user token.
    hex("SK", 32),
    sure("mfa.", 60),
    // Payments.
    sure("sk_live_", 8),
    sure("sk_test_", 8),
    sure("rk_live_", 8),
    sure("rk_test_", 8),
    sure("whsec_", 16),
    sure("shpat_", 16),
    sure("shpss_", 16),
    // Cloud providers.
    capitals("AKIA", 16),
    capitals("ASIA", 16),
    capitals("ABIA", 16),
    capitals("ACCA", 16),
    sure("AIza", 30),
    sure("ya29.", 16),
    sure("GOCSPX-", 16),
    sure("dop_v1_", 16),
    sure("hvs.", 20),
    sure("hvb.", 20),
    sure("tskey-", 12),
    sure("lin_api_", 16),
    sure("dapi", 32),
    sure("AGE-SECRET-KEY-1", 20),
    sure("EZAK", 40),
];

impl Shape {
    /// The secret that starts with the anchor, if there is one.
    pub(super) fn find(&self, hit: &Hit<'_>) -> Option<Range<usize>> {
        let anywhere = matches!(self.kind, Kind::Sure | Kind::Plain);
        if &hit.text[hit.at.clone()] != self.begins || (!anywhere && !hit.begins_word()) {
            return None;
        }
        let seen = hit.short_run(hit.at.end, belongs);
        let rest = &hit.bytes()[hit.at.end..seen];
        let found = rest.len() >= self.shortest
            && match self.kind {
                Kind::Sure => looks_random(rest) || rest.contains(&b'*'),
                Kind::Piece => longest_piece(rest) >= self.shortest,
                Kind::Plain => rest[..self.shortest]
                    .iter()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()),
                Kind::Capitals => {
                    self.is_whole(rest, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
                }
                Kind::Hex => self.is_whole(rest, is_small_hex),
            };
        let end = match self.kind {
            Kind::Capitals | Kind::Hex => hit.at.end + self.shortest,
            Kind::Plain => hit.run_within(hit.at.end, MAX_LOOKAHEAD, |byte| byte.is_ascii_alphanumeric()),
            Kind::Sure | Kind::Piece if found && seen - hit.at.end == MAX_LOOKAHEAD => hit.run(seen, belongs),
            Kind::Sure | Kind::Piece => seen,
        };
        found.then_some(hit.at.start..end)
    }

    /// Whether exactly the required number of matching bytes follows.
    fn is_whole(&self, rest: &[u8], is_such: fn(u8) -> bool) -> bool {
        let (inside, behind) = rest.split_at(self.shortest);
        inside.iter().all(|byte| is_such(*byte))
            && behind.first().is_none_or(|byte| !byte.is_ascii_alphanumeric())
    }
}

/// Whether `byte` is a lower-case hexadecimal digit.
pub(super) fn is_small_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'a'..=b'f')
}

/// Providers mask parts of a key with asterisks.
fn belongs(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'*')
}
