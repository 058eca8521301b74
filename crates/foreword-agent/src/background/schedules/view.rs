//! The status of a schedule, from the configuration and the store. Needs no running scheduler.

use std::collections::BTreeMap;

use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::schedules::{Firing, StoredSchedule};
use foreword_store::store::Store;
use foreword_workspace::config::{Config, Schedule};
use jiff::Zoned;
use jiff::tz::TimeZone;

/// A schedule with its status.
#[derive(Debug, Clone)]
pub struct ScheduleView {
    pub schedule: Schedule,
    /// The time zone of its cron expression.
    pub zone: TimeZone,
    /// When it fires next; in the past for a missed firing that will be made up.
    pub next: Option<Timestamp>,
    pub last: Option<Firing>,
    /// Consecutive failures.
    pub failures: u64,
}

impl ScheduleView {
    /// All configured schedules by name. Without a store, none has fired.
    pub async fn all(config: &Config, store: Option<&Store>, now: &Zoned) -> Result<Vec<Self>, StoreError> {
        let (mut kept, mut last) = (BTreeMap::new(), BTreeMap::new());
        if let Some(store) = store {
            kept.extend(store.schedules().await?.into_iter().map(|kept| (kept.name.clone(), kept)));
            let firings = store.last_firings().await?;
            last.extend(firings.into_iter().map(|firing| (firing.schedule.clone(), firing)));
        }
        let view = |schedule: &Schedule| {
            let kept = kept.get(&*schedule.name);
            let machine = now.time_zone();
            let zone = schedule.zone(machine).clone();
            // The stored time is valid unless the configuration has changed.
            let same = |kept: &&StoredSchedule| kept.timing == schedule.timing(machine);
            let next = match kept.filter(same) {
                _ if !schedule.enabled => None,
                Some(kept) => kept.next_fire_at,
                None => schedule.cron.next_after(now.timestamp().into(), &zone),
            };
            let failures = kept.map_or(0, |kept| kept.record.consecutive_failures);
            let last = last.get(&*schedule.name).cloned();
            Self { schedule: schedule.clone(), zone, next, last, failures }
        };
        Ok(config.schedules.values().map(view).collect())
    }

    /// The next `count` times, starting with [`ScheduleView::next`].
    #[must_use]
    pub fn times(&self, count: usize) -> Vec<Timestamp> {
        let after = |at: &Timestamp| self.schedule.cron.next_after(*at, &self.zone);
        std::iter::successors(self.next, after).take(count).collect()
    }
}
