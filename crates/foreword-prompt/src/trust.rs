//! Trust levels. They have no `Ord`, to prevent comparisons in the wrong direction: use [`Trust::meet`] and
//! [`Trust::permits`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How far a person, or a place, is trusted.
///
/// ```
/// use foreword_prompt::trust::Trust;
/// assert!(Trust::Full.permits(Trust::Inner));
/// assert!(!Trust::Familiar.permits(Trust::Inner));
/// assert_eq!(Trust::Full.meet(Trust::Familiar), Trust::Familiar);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Trust {
    /// Everybody. Unknown senders are `public`.
    #[default]
    Public,
    /// Known, but not close: most of a group chat.
    Familiar,
    /// Close: family, the team.
    Inner,
    /// The owner.
    Full,
}

impl Trust {
    /// All levels, from the least to the most trusted.
    pub const ALL: [Self; 4] = [Self::Public, Self::Familiar, Self::Inner, Self::Full];

    /// The lower of the two.
    #[must_use]
    pub fn meet(self, other: Self) -> Self {
        if self.permits(other) { other } else { self }
    }

    /// The higher of the two.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        if self.permits(other) { self } else { other }
    }

    /// Whether this trust is sufficient for `needed`.
    #[must_use]
    pub fn permits(self, needed: Self) -> bool {
        self.level() >= needed.level()
    }

    /// The word people write in configuration files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Familiar => "familiar",
            Self::Inner => "inner",
            Self::Full => "full",
        }
    }

    /// The trust for a word at run time, where an unknown word must grant nothing: `public`.
    ///
    /// Configuration uses [`FromStr`], where an unknown word is an error.
    ///
    /// ```
    /// use foreword_prompt::trust::Trust;
    /// assert_eq!(Trust::from_word("inner"), Trust::Inner);
    /// assert_eq!(Trust::from_word("root"), Trust::Public);
    /// ```
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        word.parse().unwrap_or_default()
    }

    fn level(self) -> u8 {
        match self {
            Self::Public => 0,
            Self::Familiar => 1,
            Self::Inner => 2,
            Self::Full => 3,
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An unknown trust level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown trust `{0}`: use `public`, `familiar`, `inner` or `full`")]
pub struct UnknownTrust(pub String);

impl FromStr for Trust {
    type Err = UnknownTrust;

    fn from_str(word: &str) -> Result<Self, UnknownTrust> {
        Self::ALL
            .into_iter()
            .find(|trust| trust.as_str() == word)
            .ok_or_else(|| UnknownTrust(word.to_owned()))
    }
}

/// An effective trust and its parts. It is the lowest of its parts.
///
/// ```
/// use foreword_prompt::trust::{Trust, TrustDecision};
/// let alice_in_a_group = TrustDecision::new(Trust::Full, Trust::Familiar);
/// assert_eq!(alice_in_a_group.effective(), Trust::Familiar);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TrustDecision {
    user: Trust,
    ceiling: Trust,
}

impl TrustDecision {
    /// A user of trust `user` in a situation that allows at most `ceiling`.
    #[must_use]
    pub fn new(user: Trust, ceiling: Trust) -> Self {
        Self { user, ceiling }
    }

    /// The decision when an audience of trust `audience` can read along.
    #[must_use]
    pub fn limited_to_audience(self, audience: Trust) -> Self {
        Self { ceiling: self.ceiling.meet(audience), ..self }
    }

    /// The user's own trust.
    #[must_use]
    pub fn user(self) -> Trust {
        self.user
    }

    /// The maximum of the situation.
    #[must_use]
    pub fn ceiling(self) -> Trust {
        self.ceiling
    }

    /// The effective trust: the lower of the two.
    #[must_use]
    pub fn effective(self) -> Trust {
        self.user.meet(self.ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_trust_word_is_public_or_a_configuration_error() {
        assert_eq!(Trust::from_word("owner"), Trust::Public);
        let error = "owner".parse::<Trust>().unwrap_err();
        assert_eq!(error.to_string(), "unknown trust `owner`: use `public`, `familiar`, `inner` or `full`");
    }

    #[test]
    fn effective_trust_never_exceeds_any_of_its_parts() {
        for user in Trust::ALL {
            for ceiling in Trust::ALL {
                for audience in Trust::ALL {
                    let effective =
                        TrustDecision::new(user, ceiling).limited_to_audience(audience).effective();
                    assert!(
                        user.permits(effective) && ceiling.permits(effective) && audience.permits(effective)
                    );
                    assert!([user, ceiling, audience].contains(&effective));
                }
            }
        }
    }

    #[test]
    fn meet_is_commutative_and_keeps_the_lower() {
        for a in Trust::ALL {
            for b in Trust::ALL {
                assert_eq!(a.meet(b), b.meet(a));
                assert!(a.permits(a.meet(b)) && b.permits(a.meet(b)));
            }
        }
    }
}
