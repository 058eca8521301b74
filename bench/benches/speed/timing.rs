//! Times a subject and its peer in turns, so that whatever slows the machine slows both. Medians only: on a shared
//! machine the mean tells about the neighbours.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long a batch of calls should take: long enough for the clock, short enough to dodge the scheduler.
const BATCH: Duration = Duration::from_micros(200);
/// How often each side gets a turn.
const ROUNDS: usize = 501;

/// A subject next to its peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comparison {
    /// The median time of one call.
    pub(crate) subject: Duration,
    /// The same of the peer.
    pub(crate) peer: Duration,
    /// The median over the rounds of subject divided by peer.
    pub(crate) ratio: f64,
}

/// Compares two things that take little time, in batches.
pub(crate) fn compare<A, B>(subject: impl FnMut() -> A, peer: impl FnMut() -> B) -> Comparison {
    let (mut subject, mut peer) = (Batch::sized_for(subject), Batch::sized_for(peer));
    compare_rounds(ROUNDS, || subject.per_call(), || peer.per_call())
}

/// Compares two things that take their own time, over so many rounds.
pub(crate) fn compare_rounds(
    rounds: usize,
    mut subject: impl FnMut() -> Duration,
    mut peer: impl FnMut() -> Duration,
) -> Comparison {
    let (mut subjects, mut peers, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (one, other) = (subject(), peer());
        subjects.push(one.as_secs_f64());
        peers.push(other.as_secs_f64());
        ratios.push(one.as_secs_f64() / other.as_secs_f64());
    }
    Comparison {
        subject: Duration::from_secs_f64(median(&mut subjects)),
        peer: Duration::from_secs_f64(median(&mut peers)),
        ratio: median(&mut ratios),
    }
}

/// The middle of `values`, or 0 if there are none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

struct Batch<F> {
    call: F,
    size: u32,
}

impl<T, F: FnMut() -> T> Batch<F> {
    fn sized_for(call: F) -> Self {
        let mut batch = Self { call, size: 1 };
        while batch.time() < BATCH && batch.size < 1 << 24 {
            batch.size *= 2;
        }
        batch
    }

    fn time(&mut self) -> Duration {
        let start = Instant::now();
        for _ in 0..self.size {
            black_box((self.call)());
        }
        start.elapsed()
    }

    fn per_call(&mut self) -> Duration {
        // Below a nanosecond a `Duration` is zero, and no ratio can be made of that.
        Duration::from_secs_f64((self.time().as_secs_f64() / f64::from(self.size)).max(1e-9))
    }
}
