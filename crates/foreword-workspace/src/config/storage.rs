//! Sections `store` and `events`.

use std::fmt;

use foreword_core::store_url::StoreUrl;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::DEFAULT_STORE;
use super::parse::ConfigParser;

/// The database.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawStore {
    /// A file path, or `postgres://user@host/database` for several nodes. Default: `.foreword/foreword.db`. The
    /// environment variable `FOREWORD_STORE_URL` takes precedence, so that no password needs to be in a file.
    #[schemars(with = "Option<String>")]
    pub url: Option<Spanned<String>>,
}

/// The URL may contain a password.
impl fmt::Debug for RawStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawStore").finish_non_exhaustive()
    }
}

/// The event log.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawEvents {
    /// Events older than this many days are deleted. Default: 30.
    #[schemars(with = "Option<u32>")]
    pub retention_days: Option<Spanned<u32>>,
}

const DEFAULT_EVENT_DAYS: u32 = 30;

impl ConfigParser<'_> {
    pub(super) fn store_url(&mut self, raw: &RawStore) -> StoreUrl {
        let default = || StoreUrl::File(DEFAULT_STORE.to_owned());
        let Some(written) = &raw.url else { return default() };
        StoreUrl::parse(&written.value).unwrap_or_else(|bad| {
            self.refuse(written.defined, format!("`store.url`: {bad}"), bad.help().to_owned());
            default()
        })
    }

    pub(super) fn event_days(&mut self, raw: &RawEvents) -> u32 {
        match &raw.retention_days {
            Some(days) if days.value == 0 => {
                let message = "`events.retention_days` is 0: every event would be deleted at once".to_owned();
                self.refuse(days.defined, message, "use 1 or more".to_owned());
                DEFAULT_EVENT_DAYS
            }
            Some(days) => days.value,
            None => DEFAULT_EVENT_DAYS,
        }
    }
}
