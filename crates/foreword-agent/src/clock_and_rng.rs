//! The clock and the random number generator, as a trait that tests replace.

use foreword_core::id::BadId;
use foreword_core::timestamp::Timestamp;
use jiff::Zoned;

/// A clock and a random number generator.
pub trait ClockAndRng: Send + Sync {
    /// The current time in the local time zone.
    fn now(&self) -> Zoned;

    /// The current time without a time zone. Cheaper than [`ClockAndRng::now`].
    fn timestamp(&self) -> Timestamp {
        self.now().timestamp().into()
    }

    /// Cryptographically secure random bytes.
    fn random(&self) -> u128;
}

/// The clock and the random number generator of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine;

impl ClockAndRng for Machine {
    fn now(&self) -> Zoned {
        Zoned::now()
    }

    fn timestamp(&self) -> Timestamp {
        jiff::Timestamp::now().into()
    }

    fn random(&self) -> u128 {
        let mut bytes = [0; 16];
        // Without randomness, the markers around untrusted content would be predictable.
        match getrandom::fill(&mut bytes) {
            Ok(()) => u128::from_ne_bytes(bytes),
            Err(_) => std::process::abort(),
        }
    }
}

impl dyn ClockAndRng {
    /// A random number from 0 to 1.
    #[must_use]
    pub fn chance(&self) -> f64 {
        f64::from((self.random() >> 96) as u32) / f64::from(u32::MAX)
    }

    /// A new id with the prefix `kind`. Ids sort by creation time.
    ///
    /// # Errors
    /// If `kind` is not a valid prefix of an id.
    pub fn id<T: TryFrom<String, Error = BadId>>(&self, kind: &str) -> Result<T, BadId> {
        let micros = self.timestamp().as_micros();
        T::try_from(format!("{kind}-{micros:014x}{:012x}", self.random() >> 80))
    }
}
