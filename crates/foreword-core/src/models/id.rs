//! Model ids, `provider/name`, and model families.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::serde_text::serde_as_text;

/// A model by its provider and name, such as `anthropic/claude-haiku-4-5`.
///
/// ```
/// use foreword_core::models::ModelId;
/// let id: ModelId = "anthropic/claude-haiku-4-5".parse()?;
/// assert_eq!((id.provider(), id.name()), ("anthropic", "claude-haiku-4-5"));
/// # Ok::<(), foreword_core::models::InvalidModelId>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct ModelId(String);

impl ModelId {
    /// The provider, such as `anthropic`.
    #[must_use]
    pub fn provider(&self) -> &str {
        self.0.split_once('/').map_or("", |(provider, _)| provider)
    }

    /// The provider's name for the model.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, name)| name)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The model family.
    #[must_use]
    pub fn family(&self) -> ModelFamily {
        let name = self.name();
        // The leading letters; a name without them is its own family.
        let letters = name.find(|c: char| !c.is_alphabetic()).unwrap_or(name.len());
        let kind = if letters == 0 { name } else { &name[..letters] };
        ModelFamily(format!("{}/{kind}", self.provider()))
    }
}

impl FromStr for ModelId {
    type Err = InvalidModelId;

    fn from_str(written: &str) -> Result<Self, InvalidModelId> {
        let sound =
            |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c.is_control());
        match written.split_once('/') {
            Some((provider, name)) if sound(provider) && sound(name) => Ok(Self(written.to_owned())),
            _ => Err(InvalidModelId { written: written.escape_debug().to_string() }),
        }
    }
}

serde_as_text!(ModelId);

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// An invalid model id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{written}` is not a valid model id: write provider and name, as in `offline/echo`")]
pub struct InvalidModelId {
    written: String,
}

/// Models that can continue a conversation with the same frozen prompt: the same provider and the same first word of
/// the name, as in `anthropic/claude`. A change of family opens a new epoch.
///
/// Derived from the name alone, so that adding a model to the catalog does not change its family.
///
/// ```
/// use foreword_core::models::ModelId;
/// let family = |id: &str| id.parse::<ModelId>().map(|id| id.family());
/// assert_eq!(family("openai/gpt-5")?.as_str(), "openai/gpt");
/// assert_eq!(family("openai/gpt-5")?, family("openai/gpt-4o-mini")?);
/// assert_ne!(family("openai/gpt-5")?, family("openai/o3")?);
/// # Ok::<(), foreword_core::models::InvalidModelId>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ModelFamily(String);

impl ModelFamily {
    /// The family as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_the_provider_and_the_first_word() {
        for (id, family) in [
            ("anthropic/claude-opus-5", "anthropic/claude"),
            ("openai/gpt-4o", "openai/gpt"),
            ("openai/o4-mini", "openai/o"),
            ("google/gemini-2.5-pro", "google/gemini"),
            ("bedrock/claude-opus-5", "bedrock/claude"),
            ("openrouter/meta-llama/llama-4", "openrouter/meta"),
            ("local/7b", "local/7b"),
        ] {
            assert_eq!(id.parse::<ModelId>().unwrap().family().as_str(), family, "{id}");
        }
    }

    #[test]
    fn name_without_provider_or_with_spaces_is_refused() {
        for wrong in ["", "echo", "/echo", "offline/", "offline/an echo", "offline/e\ncho"] {
            let error = wrong.parse::<ModelId>().unwrap_err().to_string();
            assert!(
                error.ends_with("is not a valid model id: write provider and name, as in `offline/echo`"),
                "{error}"
            );
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
