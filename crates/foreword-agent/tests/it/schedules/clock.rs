//! A clock that stands still until somebody moves it, in this process or for all that look at a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use foreword_agent::surroundings::{Machine, Surroundings};
use foreword_core::timestamp::Timestamp;
use jiff::Zoned;
use jiff::tz::TimeZone;

/// A clock in Berlin.
fn in_berlin(micros: i64) -> Zoned {
    let at = jiff::Timestamp::from_microsecond(micros).unwrap();
    at.to_zoned(TimeZone::get("Europe/Berlin").unwrap())
}

/// A clock the test moves.
pub(crate) struct MovedClock(AtomicI64);

impl MovedClock {
    pub(crate) fn at(time: &str) -> Self {
        let clock = Self(AtomicI64::new(0));
        clock.set(time);
        clock
    }

    pub(crate) fn set(&self, time: &str) {
        let at: Timestamp = time.parse().unwrap();
        self.0.store(at.as_micros(), Ordering::SeqCst);
    }
}

impl Surroundings for MovedClock {
    fn now(&self) -> Zoned {
        in_berlin(self.0.load(Ordering::SeqCst))
    }

    fn random(&self) -> u128 {
        Machine.random()
    }
}

/// A clock that several processes read from a file.
pub(crate) struct FileClock(PathBuf);

impl FileClock {
    pub(crate) fn new(folder: &Path) -> Self {
        Self(folder.join("clock"))
    }

    /// Moves it for all of them at once.
    pub(crate) fn set(&self, at: Timestamp) {
        let next = self.0.with_extension("next");
        fs::write(&next, at.as_micros().to_string()).unwrap();
        fs::rename(next, &self.0).unwrap();
    }
}

impl Surroundings for FileClock {
    fn now(&self) -> Zoned {
        in_berlin(fs::read_to_string(&self.0).unwrap().parse().unwrap())
    }

    fn random(&self) -> u128 {
        Machine.random()
    }
}
