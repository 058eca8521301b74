//! The rules for a new token, the same for the command line and over HTTP: whom it may speak for, what it opens if nobody
//! says, how long it lives. What is refused is refused before anything is stored.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::surroundings::Surroundings;
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

/// What a token opens if nobody says.
pub const USUAL_SCOPES: [Scope; 2] = [Scope::Chat, Scope::Observe];
/// The most characters of a token's name.
const LONGEST_NAME: usize = 100;
/// The longest that can be asked for in days and the like: who wants more wants `never`.
const LONGEST_LIFE: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// A token that somebody asks for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TokenWish {
    /// What it is called; the user's name, if nobody says.
    pub name: Option<String>,
    /// Whom it speaks for; the owner, if nobody says.
    pub user: Option<String>,
    /// What it opens; none is [`USUAL_SCOPES`].
    pub scopes: BTreeSet<Scope>,
    /// What a drop-in endpoint does with its requests.
    pub mode: Option<ProxyMode>,
    /// How long it lives: `30d`, `12h`, a date, a time, or `never`, which is also what holds if nobody says.
    pub expires: Option<String>,
    /// What it may ask for, where that differs from what holds for all.
    pub limits: TokenLimits,
}

/// A token that follows the rules, and is not stored yet.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenGrant {
    name: String,
    user: String,
    scopes: BTreeSet<Scope>,
    mode: Option<ProxyMode>,
    expires_at: Option<Timestamp>,
    limits: TokenLimits,
}

/// Why there is no such token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadWish {
    /// Nobody of that name is in the configuration.
    #[error("there is no user `{name}`")]
    UnknownUser {
        /// What was given.
        name: String,
        /// Whom they may have meant.
        near: Option<String>,
    },
    /// Nobody was named, and nobody is the owner.
    #[error("nobody is named, and the configuration has no user of `full` trust")]
    NoOwner,
    /// That is no name.
    #[error("the name of a token has 1 to {LONGEST_NAME} characters on one line")]
    Name,
    /// That says no time.
    #[error("`{words}` does not say how long: use 12h, 30d, 8w, 2027-01-31, 2027-01-31T12:00:00Z or never")]
    Expiry {
        /// What was given.
        words: String,
    },
    /// It would be over before it began.
    #[error("a token that expires at {at} would open nothing")]
    Past {
        /// When.
        at: Timestamp,
    },
    /// A limit that allows nothing, or is no amount.
    #[error("`{limit}` must be more than 0")]
    Limit {
        /// Which.
        limit: &'static str,
    },
}

impl BadWish {
    /// A word for programs.
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

    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::UnknownUser { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::UnknownUser { near: None, .. } | Self::NoOwner => {
                "section `users` of foreword.yaml says who there is".to_owned()
            }
            Self::Name => "call it after the program that will use it".to_owned(),
            Self::Expiry { .. } | Self::Past { .. } => "such as `30d`".to_owned(),
            Self::Limit { .. } => "leave it out for what holds for all".to_owned(),
        }
    }
}

impl TokenWish {
    /// The token, if the rules allow it under `config` at `now`.
    ///
    /// # Errors
    /// If they do not.
    ///
    /// ```
    /// use foreword_server::auth::issuing::{BadWish, TokenWish};
    /// use foreword_workspace::config::Config;
    /// let config = Config::parse("foreword.yaml", "users: [{ name: alice, trust: full }]").unwrap();
    /// let now: jiff::Zoned = "2026-11-16T08:00:00Z[UTC]".parse().unwrap();
    /// let wish = TokenWish { expires: Some("30d".to_owned()), ..TokenWish::default() };
    /// assert_eq!(wish.granted(&config, &now).unwrap().user(), "alice");
    /// let nobody = TokenWish { user: Some("alicia".to_owned()), ..TokenWish::default() };
    /// assert_eq!(nobody.granted(&config, &now).unwrap_err().help(), "did you mean `alice`?");
    /// ```
    pub fn granted(self, config: &Config, now: &Zoned) -> Result<TokenGrant, BadWish> {
        let user = user(self.user.as_deref(), config)?;
        let name = name(self.name.as_deref(), &user)?;
        let expires_at = self.expires.as_deref().map_or(Ok(None), |words| expiry(words, now))?;
        is_sensible(&self.limits)?;
        let scopes = if self.scopes.is_empty() { USUAL_SCOPES.into() } else { self.scopes };
        Ok(TokenGrant { name, user, scopes, mode: self.mode, expires_at, limits: self.limits })
    }
}

impl TokenGrant {
    /// Whom it speaks for.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Makes the token and stores its hash. The text is given out here and nowhere else.
    ///
    /// # Errors
    /// If it can't be stored.
    pub async fn issue(
        self,
        store: &Store,
        surroundings: &Arc<dyn Surroundings>,
    ) -> Result<(ApiToken, Credential), ServerError> {
        let credential = Credential::from_random(unguessable(surroundings));
        let new = NewToken {
            id: surroundings.id("tok")?,
            hash: credential.hash(),
            name: self.name,
            user: self.user,
            scopes: self.scopes,
            mode: self.mode,
            created_at: surroundings.timestamp(),
            expires_at: self.expires_at,
            limits: self.limits,
        };
        Ok((store.add_token(new).await?, credential))
    }
}

/// Bytes nobody can guess.
pub(crate) fn unguessable(surroundings: &Arc<dyn Surroundings>) -> [u8; 32] {
    let mut bytes = [0; 32];
    let (one, other) = bytes.split_at_mut(16);
    one.copy_from_slice(&surroundings.random().to_ne_bytes());
    other.copy_from_slice(&surroundings.random().to_ne_bytes());
    bytes
}

/// Only somebody whom the configuration knows: for anybody else a token would be a trust that nobody gave.
fn user(named: Option<&str>, config: &Config) -> Result<String, BadWish> {
    let Some(named) = named else {
        return config.owner().map(|owner| owner.name.to_string()).ok_or(BadWish::NoOwner);
    };
    if let Some(user) = config.user(named) {
        return Ok(user.name.to_string());
    }
    let near = did_you_mean(named, config.users.iter().map(|user| &*user.name));
    Err(BadWish::UnknownUser { name: display_line(named, 60), near: near.map(str::to_owned) })
}

fn name(given: Option<&str>, user: &str) -> Result<String, BadWish> {
    let Some(given) = given else { return Ok(format!("{user}'s")) };
    let given = given.trim();
    let fits = (1..=LONGEST_NAME).contains(&given.chars().count()) && !given.chars().any(char::is_control);
    if fits { Ok(given.to_owned()) } else { Err(BadWish::Name) }
}

/// When words such as `30d` end, counted from `now`; `None` is never.
fn expiry(words: &str, now: &Zoned) -> Result<Option<Timestamp>, BadWish> {
    let words = words.trim();
    if words == "never" {
        return Ok(None);
    }
    let present = Timestamp::from(now.timestamp());
    let bad = || BadWish::Expiry { words: display_line(words, 60) };
    let at = match life(words) {
        Some(life) if life <= LONGEST_LIFE => present.plus(life),
        Some(_) => return Err(bad()),
        None => day_or_time(words, now).ok_or_else(bad)?,
    };
    if at > present { Ok(Some(at)) } else { Err(BadWish::Past { at }) }
}

/// A time as it is written, or the beginning of a day here.
fn day_or_time(words: &str, now: &Zoned) -> Option<Timestamp> {
    if let Ok(at) = words.parse::<Timestamp>() {
        return Some(at);
    }
    let day: jiff::civil::Date = words.parse().ok()?;
    Some(day.to_zoned(now.time_zone().clone()).ok()?.timestamp().into())
}

/// `12h`, `30d`, `8w`.
fn life(words: &str) -> Option<Duration> {
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

fn is_sensible(limits: &TokenLimits) -> Result<(), BadWish> {
    let refused = |limit| Err(BadWish::Limit { limit });
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

    fn granted(wish: TokenWish) -> Result<TokenGrant, BadWish> {
        let yaml = "users: [{ name: alice, trust: full }, { name: bob, trust: inner }]";
        wish.granted(&Config::parse("foreword.yaml", yaml).unwrap(), &NOW.parse().unwrap())
    }

    fn until(words: &str) -> Result<Option<String>, &'static str> {
        let wish = TokenWish { expires: Some(words.to_owned()), ..TokenWish::default() };
        granted(wish).map(|grant| grant.expires_at.map(|at| at.to_string())).map_err(|error| error.code())
    }

    #[test]
    fn what_nobody_says_is_the_owners_and_opens_little() {
        let grant = granted(TokenWish::default()).unwrap();
        assert_eq!((grant.user.as_str(), grant.name.as_str()), ("alice", "alice's"));
        assert_eq!(grant.scopes, BTreeSet::from([Scope::Chat, Scope::Observe]));
        assert_eq!(grant.expires_at, None);
    }

    #[test]
    fn a_token_lives_as_long_as_somebody_says() {
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
    fn names_and_limits_that_mean_nothing_are_refused() {
        let code = |wish: TokenWish| granted(wish).unwrap_err().code();
        for name in ["", "  ", "a\nb", &"x".repeat(101)] {
            let wish = TokenWish { name: Some(name.to_owned()), ..TokenWish::default() };
            assert_eq!(code(wish), "bad_name", "{name:?}");
        }
        let wish = |limits| TokenWish { limits, ..TokenWish::default() };
        let none = TokenLimits::default();
        assert_eq!(code(wish(TokenLimits { requests_per_minute: Some(0), ..none })), "bad_token_limit");
        assert_eq!(code(wish(TokenLimits { concurrent_turns: Some(0), ..none })), "bad_token_limit");
        for usd in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                code(wish(TokenLimits { usd_per_day: Some(usd), ..none })),
                "bad_token_limit",
                "{usd}"
            );
        }
    }
}
