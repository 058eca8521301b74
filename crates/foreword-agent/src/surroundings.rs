//! What only the machine knows: the time, and chance. Everything else that runs turns is told, so that tests can choose.

use foreword_core::id::BadId;
use foreword_core::timestamp::Timestamp;
use jiff::Zoned;

/// The time and chance.
pub trait Surroundings: Send + Sync {
    /// The time, where the agent lives.
    fn now(&self) -> Zoned;

    /// The same time, wherever that is: what is asked for many times in each turn.
    fn moment(&self) -> Timestamp {
        self.now().timestamp().into()
    }

    /// Unguessable bytes.
    fn random(&self) -> u128;
}

/// The machine this runs on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine;

impl Surroundings for Machine {
    fn now(&self) -> Zoned {
        Zoned::now()
    }

    fn moment(&self) -> Timestamp {
        jiff::Timestamp::now().into()
    }

    fn random(&self) -> u128 {
        let mut bytes = [0; 16];
        // Without a source of chance every frame would be guessable: better to stop than to go on.
        match getrandom::fill(&mut bytes) {
            Ok(()) => u128::from_ne_bytes(bytes),
            Err(_) => std::process::abort(),
        }
    }
}

impl dyn Surroundings {
    /// The time as it is stored.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.moment()
    }

    /// A number from 0 to 1.
    #[must_use]
    pub fn chance(&self) -> f64 {
        f64::from((self.random() >> 96) as u32) / f64::from(u32::MAX)
    }

    /// A fresh id that begins with `kind`; later ones sort behind earlier ones.
    ///
    /// # Errors
    /// If `kind` is no beginning of an id.
    pub fn id<T: TryFrom<String, Error = BadId>>(&self, kind: &str) -> Result<T, BadId> {
        let micros = self.timestamp().as_micros();
        T::try_from(format!("{kind}-{micros:014x}{:012x}", self.random() >> 80))
    }
}
