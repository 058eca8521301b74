//! Where everything is kept that must last, and for how long events are.

use std::sync::Arc;

use super::Reader;
use crate::config::DEFAULT_STORE;
use crate::config::raw::{RawEvents, RawStore};

const DEFAULT_EVENT_DAYS: u32 = 30;

impl Reader<'_> {
    pub(super) fn store_url(&mut self, raw: &RawStore) -> Arc<str> {
        let url = self.word(raw.url.as_ref(), "store.url", DEFAULT_STORE);
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        if let (Some(written), Some(scheme)) = (&raw.url, scheme)
            && !["postgres", "postgresql", "sqlite"].contains(&scheme)
        {
            // The address itself is not repeated: it may hold a password.
            let message = format!("there is no storage engine for `{}`", scheme.escape_debug());
            let help = "use a file's path, or postgres://user@host/database".to_owned();
            self.refuse(written.defined, message, help);
        }
        url.into()
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
