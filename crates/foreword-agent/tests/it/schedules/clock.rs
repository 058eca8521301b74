//! A clock that the test moves, in this process or through a file for several processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use foreword_agent::clock_and_rng::{ClockAndRng, Machine};
use foreword_core::timestamp::Timestamp;
use jiff::Zoned;
use jiff::tz::TimeZone;
use tokio::sync::watch;

/// A clock in Berlin.
fn in_berlin(micros: i64) -> Zoned {
    let at = jiff::Timestamp::from_microsecond(micros).unwrap();
    at.to_zoned(TimeZone::get("Europe/Berlin").unwrap())
}

/// A clock the test moves.
pub(crate) struct MovedClock {
    micros: AtomicI64,
    /// How often it was read with its time zone, as each poll of the scheduler does.
    reads: watch::Sender<u64>,
}

impl MovedClock {
    pub(crate) fn at(time: &str) -> Self {
        let clock = Self { micros: AtomicI64::new(0), reads: watch::Sender::new(0) };
        clock.set(time);
        clock
    }

    /// Waits until it was read this many times more.
    pub(crate) async fn until_read(&self, times: u64) {
        let mut reads = self.reads.subscribe();
        let enough = *reads.borrow_and_update() + times;
        reads.wait_for(|reads| *reads >= enough).await.unwrap();
    }

    pub(crate) fn set(&self, time: &str) {
        let at: Timestamp = time.parse().unwrap();
        self.micros.store(at.as_micros(), Ordering::SeqCst);
    }
}

impl ClockAndRng for MovedClock {
    fn now(&self) -> Zoned {
        self.reads.send_modify(|reads| *reads += 1);
        in_berlin(self.micros.load(Ordering::SeqCst))
    }

    fn timestamp(&self) -> Timestamp {
        in_berlin(self.micros.load(Ordering::SeqCst)).timestamp().into()
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

impl ClockAndRng for FileClock {
    fn now(&self) -> Zoned {
        in_berlin(fs::read_to_string(&self.0).unwrap().parse().unwrap())
    }

    fn random(&self) -> u128 {
        Machine.random()
    }
}
