//! Sections `users` and `situations`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::parse::ConfigParser;
use super::raw::RawConfig;

/// A known user.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawUser {
    /// The name; also the name of the folder `users/<name>/`.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The user's trust.
    pub trust: Trust,
    /// The channels this user writes from, such as `signal:+15550100`.
    #[serde(default, rename = "match")]
    #[schemars(with = "Vec<String>")]
    pub matches: Vec<Spanned<String>>,
}

/// A kind of conversation.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSituation {
    /// The maximum trust of any user in this situation. Default: the built-in ceiling, `familiar` for a custom
    /// situation.
    pub ceiling: Option<Trust>,
    /// A file with instructions for this situation.
    #[schemars(with = "Option<String>")]
    pub prompt_overlay: Option<Spanned<String>>,
}

/// A known user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name; valid as a folder name.
    pub name: Arc<str>,
    /// The user's trust.
    pub trust: Trust,
    /// The channels this user writes from.
    pub channels: Vec<Channel>,
}

/// A kind of conversation, such as `dm` or `group`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    /// The maximum trust of any user in this situation.
    pub ceiling: Trust,
    /// A file with instructions for this situation.
    pub overlay: Option<Arc<str>>,
}

const DEFAULT_SITUATIONS: [(&str, Trust); 4] =
    [("dm", Trust::Full), ("group", Trust::Familiar), ("inbox", Trust::Full), ("system", Trust::Full)];

impl ConfigParser<'_> {
    pub(super) fn users(&mut self, raw: Option<&[RawUser]>) -> Vec<User> {
        let Some(raw) = raw else {
            let channels = vec![Channel::new("terminal:default")];
            return vec![User { name: "owner".into(), trust: Trust::Full, channels }];
        };
        let mut names = BTreeSet::new();
        let mut claimed: BTreeMap<&str, &str> = BTreeMap::new();
        for user in raw {
            let (name, at) = (user.name.value.as_str(), user.name.defined);
            if !is_user_name(name) {
                let message = format!("`{}` is not a valid user name", name.escape_debug());
                self.refuse(
                    at,
                    message,
                    "use letters, digits, `_`, `-` and `.`; it is also a folder name".to_owned(),
                );
            }
            if !names.insert(name) {
                self.refuse(
                    at,
                    format!("user `{name}` is listed twice"),
                    "put both into one entry".to_owned(),
                );
            }
            for channel in &user.matches {
                if let Some(other) = claimed.insert(&channel.value, name).filter(|other| *other != name) {
                    let message =
                        format!("channel `{}` already belongs to `{other}`", channel.value.escape_debug());
                    self.refuse(channel.defined, message, "a channel can belong to one user only".to_owned());
                }
            }
        }
        raw.iter()
            .map(|user| User {
                name: user.name.value.as_str().into(),
                trust: user.trust,
                channels: user.matches.iter().map(|channel| self.channel(channel)).collect(),
            })
            .collect()
    }

    pub(super) fn situations(&mut self, raw: &RawConfig) -> BTreeMap<Arc<str>, Situation> {
        let default = |(name, ceiling): (&str, Trust)| (name.into(), Situation { ceiling, overlay: None });
        let mut all: BTreeMap<Arc<str>, Situation> = DEFAULT_SITUATIONS.into_iter().map(default).collect();
        for (name, written) in &raw.situations {
            let overlay = self.file(written.value.prompt_overlay.as_ref(), "overlay");
            let built_in = all.get(name.as_str()).map_or(Trust::Familiar, |situation| situation.ceiling);
            let situation = Situation {
                ceiling: written.value.ceiling.unwrap_or(built_in),
                overlay: overlay.map(Into::into),
            };
            all.insert(name.as_str().into(), situation);
        }
        all
    }
}

/// Whether `name` is a valid user name. It is also a folder name, so only plain characters are allowed.
pub(super) fn is_user_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.chars().count() <= 64 && !name.starts_with('.') && name.chars().all(plain)
}
