//! The rules for a new token, for the command line and the HTTP interface: user, default scopes, lifetime.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::clock_and_rng::ClockAndRng;
use foreword_core::api_token::{ProxyMode, Scope, TokenLimits};
use foreword_core::timestamp::Timestamp;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;
use foreword_store::store::Store;
use foreword_store::tokens::{ApiToken, NewToken};
use foreword_workspace::config::Config;
use jiff::Zoned;

use super::credential::Credential;
use crate::error::ServerError;

/// The scopes of a token without explicit ones.
pub const DEFAULT_SCOPES: [Scope; 2] = [Scope::Chat, Scope::Observe];
const MAX_NAME_CHARS: usize = 100;
/// The maximum lifetime, other than `never`.
const MAX_LIFETIME: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// A token to create.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TokenSpec {
    /// Default: after the user.
    pub name: Option<String>,
    /// Default: the owner.
    pub user: Option<String>,
    /// Default: [`DEFAULT_SCOPES`].
    pub scopes: BTreeSet<Scope>,
    /// The mode of drop-in endpoints.
    pub mode: Option<ProxyMode>,
    /// The lifetime: `30d`, `12h`, a date, a time, or `never`. Default: `never`.
    pub expires: Option<String>,
    /// Limits that differ from the server's.
    pub limits: TokenLimits,
}

/// A valid token that is not stored yet.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenGrant {
    name: String,
    user: String,
    scopes: BTreeSet<Scope>,
    mode: Option<ProxyMode>,
    expires_at: Option<Timestamp>,
    limits: TokenLimits,
}

/// Why a token can't be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenSpecError {
    /// The user is not configured.
    #[error("there is no user `{name}`")]
    UnknownUser {
        name: String,
        /// A similar name.
        near: Option<String>,
    },
    /// No user was named, and there is no owner.
    #[error("no user is given, and the configuration has no user with `full` trust")]
    NoOwner,
    /// The name is invalid.
    #[error("the name of a token must have 1 to {MAX_NAME_CHARS} characters on one line")]
    Name,
    /// The lifetime is invalid.
    #[error("`{words}` is not a valid expiry: use 12h, 30d, 8w, 2027-01-31, 2027-01-31T12:00:00Z or never")]
    Expiry {
        /// The given text.
        words: String,
    },
    /// The expiry is in the past.
    #[error("the expiry {at} is in the past")]
    Past { at: Timestamp },
    /// The limit is not a positive number.
    #[error("`{limit}` must be more than 0")]
    Limit {
        /// The field.
        limit: &'static str,
    },
}

impl TokenSpecError {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownUser { .. } => "unknown_user",
            Self::NoOwner => "no_owner",
            Self::Name => "bad_name",
            Self::Expiry { .. } => "bad_expiry",
            Self::Past { .. } => "expiry_past",
            Self::Limit { .. } => "bad_token_limit",
        }
    }

    /// A hint on how to fix it.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::UnknownUser { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::UnknownUser { near: None, .. } | Self::NoOwner => {
                "the users are configured in `users` of foreword.yaml".to_owned()
            }
            Self::Name => "name it after the program that will use it".to_owned(),
            Self::Expiry { .. } | Self::Past { .. } => "for example `30d`".to_owned(),
            Self::Limit { .. } => "omit it to use the server's limit".to_owned(),
        }
    }
}

impl TokenSpec {
    /// Checks the rules under `config` at `now`.
    ///
    /// # Errors
    /// If the token is not allowed.
    ///
    /// ```
    /// use foreword_server::auth::token_spec::TokenSpec;
    /// use foreword_workspace::config::Config;
    /// let config = Config::parse("foreword.yaml", "users: [{ name: alice, trust: full }]").unwrap();
    /// let now: jiff::Zoned = "2026-11-16T08:00:00Z[UTC]".parse().unwrap();
    /// let spec = TokenSpec { expires: Some("30d".to_owned()), ..TokenSpec::default() };
    /// assert_eq!(spec.grant(&config, &now).unwrap().user(), "alice");
    /// let unknown = TokenSpec { user: Some("alicia".to_owned()), ..TokenSpec::default() };
    /// assert_eq!(unknown.grant(&config, &now).unwrap_err().help(), "did you mean `alice`?");
    /// ```
    pub fn grant(self, config: &Config, now: &Zoned) -> Result<TokenGrant, TokenSpecError> {
        let user = user(self.user.as_deref(), config)?;
        let name = name(self.name.as_deref(), &user)?;
        let expires_at = self.expires.as_deref().map_or(Ok(None), |words| expiry(words, now))?;
        check_limits(&self.limits)?;
        let scopes = if self.scopes.is_empty() { DEFAULT_SCOPES.into() } else { self.scopes };
        Ok(TokenGrant { name, user, scopes, mode: self.mode, expires_at, limits: self.limits })
    }
}

impl TokenGrant {
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Generates the token and stores its hash. Its text is only available here.
    pub async fn issue(
        self,
        store: &Store,
        clock_and_rng: &Arc<dyn ClockAndRng>,
    ) -> Result<(ApiToken, Credential), ServerError> {
        let credential = Credential::from_random(random_bytes(clock_and_rng));
        let new = NewToken {
            id: clock_and_rng.id("tok")?,
            hash: credential.hash(),
            name: self.name,
            user: self.user,
            scopes: self.scopes,
            mode: self.mode,
            created_at: clock_and_rng.timestamp(),
            expires_at: self.expires_at,
            limits: self.limits,
        };
        Ok((store.add_token(new).await?, credential))
    }
}

/// Cryptographically secure random bytes.
pub(crate) fn random_bytes(clock_and_rng: &Arc<dyn ClockAndRng>) -> [u8; 32] {
    let mut bytes = [0; 32];
    let (one, other) = bytes.split_at_mut(16);
    one.copy_from_slice(&clock_and_rng.random().to_ne_bytes());
    other.copy_from_slice(&clock_and_rng.random().to_ne_bytes());
    bytes
}

/// The user must be configured, since the token gets their trust.
fn user(named: Option<&str>, config: &Config) -> Result<String, TokenSpecError> {
    let Some(named) = named else {
        return config.owner().map(|owner| owner.name.to_string()).ok_or(TokenSpecError::NoOwner);
    };
    if let Some(user) = config.user(named) {
        return Ok(user.name.to_string());
    }
    let near = did_you_mean(named, config.users.iter().map(|user| &*user.name));
    Err(TokenSpecError::UnknownUser { name: display_line(named, 60), near: near.map(str::to_owned) })
}

fn name(given: Option<&str>, user: &str) -> Result<String, TokenSpecError> {
    let Some(given) = given else { return Ok(format!("{user}'s")) };
    let given = given.trim();
    let fits = (1..=MAX_NAME_CHARS).contains(&given.chars().count()) && !given.chars().any(char::is_control);
    if fits { Ok(given.to_owned()) } else { Err(TokenSpecError::Name) }
}

/// Parses the lifetime; `None` is never.
fn expiry(words: &str, now: &Zoned) -> Result<Option<Timestamp>, TokenSpecError> {
    let words = words.trim();
    if words == "never" {
        return Ok(None);
    }
    let present = Timestamp::from(now.timestamp());
    let bad = || TokenSpecError::Expiry { words: display_line(words, 60) };
    let at = match parse_duration(words) {
        Some(life) if life <= MAX_LIFETIME => present.plus(life),
        Some(_) => return Err(bad()),
        None => day_or_time(words, now).ok_or_else(bad)?,
    };
    if at > present { Ok(Some(at)) } else { Err(TokenSpecError::Past { at }) }
}

/// A time, or the start of a day in the local time zone.
fn day_or_time(words: &str, now: &Zoned) -> Option<Timestamp> {
    if let Ok(at) = words.parse::<Timestamp>() {
        return Some(at);
    }
    let day: jiff::civil::Date = words.parse().ok()?;
    Some(day.to_zoned(now.time_zone().clone()).ok()?.timestamp().into())
}

/// Parses `12h`, `30d`, `8w`.
fn parse_duration(words: &str) -> Option<Duration> {
    let unit = words.chars().last()?;
    let seconds: u64 = match unit {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    let number: u64 = words.strip_suffix(unit)?.parse().ok()?;
    Some(Duration::from_secs(number.saturating_mul(seconds)))
}

fn check_limits(limits: &TokenLimits) -> Result<(), TokenSpecError> {
    let refused = |limit| Err(TokenSpecError::Limit { limit });
    if limits.requests_per_minute == Some(0) {
        return refused("requests_per_minute");
    }
    if limits.concurrent_turns == Some(0) {
        return refused("concurrent_turns");
    }
    if limits.body_mb == Some(0) {
        return refused("body_mb");
    }
    match limits.usd_per_day {
        Some(amount) if !amount.is_finite() || amount <= 0.0 => refused("usd_per_day"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-16T08:00:00+01:00[Europe/Berlin]";

    fn grant(spec: TokenSpec) -> Result<TokenGrant, TokenSpecError> {
        let yaml = "users: [{ name: alice, trust: full }, { name: bob, trust: inner }]";
        spec.grant(&Config::parse("foreword.yaml", yaml).unwrap(), &NOW.parse().unwrap())
    }

    fn until(words: &str) -> Result<Option<String>, &'static str> {
        let spec = TokenSpec { expires: Some(words.to_owned()), ..TokenSpec::default() };
        grant(spec).map(|grant| grant.expires_at.map(|at| at.to_string())).map_err(|error| error.code())
    }

    #[test]
    fn defaults_are_owner_with_chat_and_observe() {
        let grant = grant(TokenSpec::default()).unwrap();
        assert_eq!((grant.user.as_str(), grant.name.as_str()), ("alice", "alice's"));
        assert_eq!(grant.scopes, BTreeSet::from([Scope::Chat, Scope::Observe]));
        assert_eq!(grant.expires_at, None);
    }

    #[test]
    fn expiry_is_parsed() {
        assert_eq!(until("12h").unwrap().unwrap(), "2026-11-16T19:00:00.000000Z");
        assert_eq!(until(" 30d ").unwrap().unwrap(), "2026-12-16T07:00:00.000000Z");
        assert_eq!(until("2027-01-31").unwrap().unwrap(), "2027-01-30T23:00:00.000000Z");
        assert_eq!(until("2027-01-31T12:00:00Z").unwrap().unwrap(), "2027-01-31T12:00:00.000000Z");
        assert_eq!(until("never"), Ok(None));
        for words in
            ["", "soon", "30", "-1d", "1.5h", "99999999999d", "18446744073709551615w", "2027-13-01", "€"]
        {
            assert_eq!(until(words), Err("bad_expiry"), "{words}");
        }
        for words in ["0d", "2026-11-16", "1999-01-01T00:00:00Z"] {
            assert_eq!(until(words), Err("expiry_past"), "{words}");
        }
    }

    #[test]
    fn invalid_names_and_limits_are_refused() {
        let code = |spec: TokenSpec| grant(spec).unwrap_err().code();
        for name in ["", "  ", "a\nb", &"x".repeat(101)] {
            let spec = TokenSpec { name: Some(name.to_owned()), ..TokenSpec::default() };
            assert_eq!(code(spec), "bad_name", "{name:?}");
        }
        let spec = |limits| TokenSpec { limits, ..TokenSpec::default() };
        let none = TokenLimits::default();
        assert_eq!(code(spec(TokenLimits { requests_per_minute: Some(0), ..none })), "bad_token_limit");
        assert_eq!(code(spec(TokenLimits { concurrent_turns: Some(0), ..none })), "bad_token_limit");
        for usd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                code(spec(TokenLimits { usd_per_day: Some(usd), ..none })),
                "bad_token_limit",
                "{usd}"
            );
        }
    }
}
