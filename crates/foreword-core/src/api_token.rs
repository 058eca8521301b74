//! Scopes, limits and lifetime of API tokens. Tokens are represented by their hash only.

use std::fmt;

use crate::string_enum::string_enum;
use crate::timestamp::Timestamp;

string_enum! {
    /// A permission of an API token.
    Scope = "scope" {
        /// Send messages to the agent.
        Chat = "chat",
        /// Read events, traces and costs.
        Observe = "observe",
        /// Change stored data.
        Admin = "admin",
        /// Assert the identity of the user of a request.
        Assert = "assert",
    }
    /// What a drop-in endpoint does with the prompt of a request.
    ProxyMode = "mode" {
        /// Forwards the request unchanged; `foreword_server::proxy::inject_prompt` is not used.
        Observe = "observe",
        /// Puts Foreword's prompt before the client's, by `foreword_server::proxy::inject_prompt`.
        Prepend = "prepend",
        /// Replaces the client's prompt with Foreword's, by `foreword_server::proxy::inject_prompt`.
        Replace = "replace",
    }
}

/// The BLAKE3 hash of an API token, computed by `foreword_server::auth::credential`. `Debug` does not print it.
///
/// ```
/// use foreword_core::api_token::TokenHash;
/// let hash = TokenHash::new("blake3:5eb63bbb");
/// assert_eq!(format!("{hash:?}"), "TokenHash(…)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// Wraps a hash.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The hash as text, to store or compare it.
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

/// Limits of one token that differ from the server's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct TokenLimits {
    /// The maximum number of requests per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u64>,
    /// The maximum number of concurrent turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrent_turns: Option<u64>,
    /// The maximum spending per day, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd_per_day: Option<f64>,
    /// The maximum request body size, in MiB. It can only lower the server's limit, which is checked before the token
    /// is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_mb: Option<u64>,
}

/// When a token expires or was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Validity {
    /// When the token expires.
    pub expires_at: Option<Timestamp>,
    /// When an administrator revoked the token.
    pub revoked_at: Option<Timestamp>,
}

impl Validity {
    /// Whether the token is valid at `now`. A revoked token is never valid, whatever the clock says.
    #[must_use]
    pub fn is_usable(self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_valid_until_expired_or_revoked() {
        let at = Timestamp::from_micros;
        let usable = |expires_at, revoked_at, now| Validity { expires_at, revoked_at }.is_usable(at(now));
        assert!(usable(None, None, 5));
        assert!(usable(Some(at(6)), None, 5));
        assert!(!usable(Some(at(5)), None, 5));
        assert!(!usable(None, Some(at(1)), 5));
        // Revoked at a future time: the clock has jumped back.
        assert!(!usable(None, Some(at(9)), 5));
    }

    #[test]
    fn string_enums_round_trip() {
        for scope in [Scope::Chat, Scope::Observe, Scope::Admin, Scope::Assert] {
            assert_eq!(scope.as_str().parse(), Ok(scope));
        }
        for mode in [ProxyMode::Observe, ProxyMode::Prepend, ProxyMode::Replace] {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        assert_eq!("root".parse::<Scope>().unwrap_err().to_string(), "`root` is not a valid scope");
    }
}
