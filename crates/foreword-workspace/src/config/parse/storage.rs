//! Where everything is kept that must last, and for how long events are.

use foreword_core::store_url::StoreUrl;

use super::Reader;
use crate::config::DEFAULT_STORE;
use crate::config::raw::{RawEvents, RawStore};

const DEFAULT_EVENT_DAYS: u32 = 30;

impl Reader<'_> {
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
