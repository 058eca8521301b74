//! A schedule as it stands: what the configuration says of it, and what the store knows. Needs no clockwork at work.

use std::collections::BTreeMap;

use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::schedules::{Firing, Schedule as Kept};
use foreword_store::store::Store;
use foreword_workspace::config::{Config, Schedule};
use jiff::Zoned;
use jiff::tz::TimeZone;

/// A schedule as it stands.
#[derive(Debug, Clone)]
pub struct ScheduleView {
    /// What the configuration says.
    pub schedule: Schedule,
    /// The time zone it is read in.
    pub zone: TimeZone,
    /// When it fires next; in the past, if that was missed and is to be made up for.
    pub next: Option<Timestamp>,
    /// Its last firing.
    pub last: Option<Firing>,
    /// How often it failed in a row.
    pub failures: u64,
}

impl ScheduleView {
    /// All that are configured, by name; without a store nothing has ever fired.
    ///
    /// # Errors
    /// If the store can't be read.
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
            // What is stored counts, unless the configuration has changed since.
            let same = |kept: &&Kept| kept.timing == schedule.timing(machine);
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

    /// The next times, beginning with the one it is at.
    #[must_use]
    pub fn times(&self, count: usize) -> Vec<Timestamp> {
        let after = |at: &Timestamp| self.schedule.cron.next_after(*at, &self.zone);
        std::iter::successors(self.next, after).take(count).collect()
    }
}
