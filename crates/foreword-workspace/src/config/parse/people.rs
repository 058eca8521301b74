//! Who is who, and in what kinds of places people speak.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;

use super::Reader;
use crate::config::raw::{RawConfig, RawUser};
use crate::config::words::is_user_name;
use crate::config::{Situation, User};

const DEFAULT_SITUATIONS: [(&str, Trust); 4] =
    [("dm", Trust::Full), ("group", Trust::Familiar), ("inbox", Trust::Full), ("system", Trust::Full)];

impl Reader<'_> {
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
                let message = format!("`{}` is no user name", name.escape_debug());
                self.refuse(
                    at,
                    message,
                    "use letters, digits, `_`, `-` and `.`; it is also a folder's name".to_owned(),
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
                    self.refuse(
                        channel.defined,
                        message,
                        "a channel tells one person from another".to_owned(),
                    );
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
