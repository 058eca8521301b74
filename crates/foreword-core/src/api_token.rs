//! What a token of the HTTP interface opens, and for how long. The token itself is never here: only its hash, which
//! nothing prints.

use std::fmt;

use crate::timestamp::Timestamp;
use crate::word::words;

words! {
    /// Something a token may be used for.
    Scope = "scope" {
        /// Talk to the agent.
        Chat = "chat",
        /// See events, traces and costs.
        Observe = "observe",
        /// Change what is stored.
        Admin = "admin",
        /// Say who somebody is.
        Assert = "assert",
    }
    /// What a drop-in endpoint does with the requests of a token.
    ProxyMode = "mode" {
        /// Passes them on untouched.
        Observe = "observe",
        /// Puts Foreword's prompt before the client's.
        Prepend = "prepend",
        /// Puts Foreword's prompt in place of the client's.
        Replace = "replace",
    }
}

/// The hash of a token, as text. Nothing prints it.
///
/// ```
/// use foreword_core::api_token::TokenHash;
/// let hash = TokenHash::new("blake3:5eb63bbb");
/// assert_eq!(format!("{hash:?}"), "TokenHash(…)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// The hash written as `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The hash as text, for those who store or compare it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

/// What one token may ask for, where that differs from what holds for all.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct TokenLimits {
    /// The most requests in a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// The most turns at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent_turns: Option<u64>,
    /// The most that may be spent in a day, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_day: Option<f64>,
    /// The largest body of a request, in MiB. It can only be smaller than what holds for all: that is looked at before anybody
    /// knows whose a request is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_mb: Option<u64>,
}

/// How long a token opens anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Validity {
    /// From when on it does not, by itself.
    pub expires_at: Option<Timestamp>,
    /// Since when it does not, because somebody said so.
    pub revoked_at: Option<Timestamp>,
}

impl Validity {
    /// Whether it opens anything at `now`. One that was revoked never does, whatever the clock says.
    #[must_use]
    pub fn is_usable(self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_until_it_expires_or_is_revoked() {
        let at = Timestamp::from_micros;
        let usable = |expires_at, revoked_at, now| Validity { expires_at, revoked_at }.is_usable(at(now));
        assert!(usable(None, None, 5));
        assert!(usable(Some(at(6)), None, 5));
        assert!(!usable(Some(at(5)), None, 5));
        assert!(!usable(None, Some(at(1)), 5));
        // Revoked at a time that has not come: the clock has jumped back.
        assert!(!usable(None, Some(at(9)), 5));
    }

    #[test]
    fn words_are_read_as_they_are_written() {
        for scope in [Scope::Chat, Scope::Observe, Scope::Admin, Scope::Assert] {
            assert_eq!(scope.as_str().parse(), Ok(scope));
        }
        for mode in [ProxyMode::Observe, ProxyMode::Prepend, ProxyMode::Replace] {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        assert_eq!("root".parse::<Scope>().unwrap_err().to_string(), "`root` is no scope");
    }
}
