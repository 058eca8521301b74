//! Secrets that are known by how they begin. A row each: the beginning, what the rest is made of, and how long it is at
//! least. Beginnings that ordinary words have too must stand at the beginning of a word and look made up.

use std::ops::Range;

use super::hit::{Hit, LOOK, longest_piece, looks_random};

/// What a secret looks like behind its beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// How it begins, in this case.
    pub(super) begins: &'static str,
    /// How many more bytes it has at least.
    shortest: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing else begins like this.
    Sure,
    /// Ordinary words may: a long piece with a digit must follow.
    Piece,
    /// Exactly this many capitals and digits.
    Capitals,
    /// Exactly this many small hexadecimal digits.
    Hex,
    /// Small letters and digits, which need not look made up: every one of these is a secret.
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

/// All of them, by who gives them out.
pub(super) const SHAPES: [Shape; 67] = [
    // Our own. A token has 32 characters; one that was cut off opens nothing, but most of it is there.
    plain("fwd_", 24),
    // Models.
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
    // Code and packages.
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
    // Talk.
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
    // An API key of Twilio's, and a user's token of Discord's.
    hex("SK", 32),
    sure("mfa.", 60),
    // Money.
    sure("sk_live_", 8),
    sure("sk_test_", 8),
    sure("rk_live_", 8),
    sure("rk_test_", 8),
    sure("whsec_", 16),
    sure("shpat_", 16),
    sure("shpss_", 16),
    // Clouds.
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
    /// The secret that begins with the anchor, if one does.
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
            Kind::Plain => hit.run_within(hit.at.end, LOOK, |byte| byte.is_ascii_alphanumeric()),
            Kind::Sure | Kind::Piece if found && seen - hit.at.end == LOOK => hit.run(seen, belongs),
            Kind::Sure | Kind::Piece => seen,
        };
        found.then_some(hit.at.start..end)
    }

    /// Whether exactly as many bytes follow as there have to be, all of them such.
    fn is_whole(&self, rest: &[u8], is_such: fn(u8) -> bool) -> bool {
        let (inside, behind) = rest.split_at(self.shortest);
        inside.iter().all(|byte| is_such(*byte))
            && behind.first().is_none_or(|byte| !byte.is_ascii_alphanumeric())
    }
}

/// A digit of a number in base 16, as programs write them.
pub(super) fn is_small_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'a'..=b'f')
}

/// Providers fill up a key of which they show a part with stars.
fn belongs(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'*')
}
