//! Times a subject and its peer alternately, so that load on the machine slows both. Uses medians, because means
//! depend on other load.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The duration of a batch: long enough for the clock, short compared with a time slice.
const BATCH: Duration = Duration::from_micros(200);
/// The number of rounds.
const ROUNDS: usize = 501;

/// A subject next to its peer.
#[derive(Debug, Clone, Copy)]
pub struct Comparison {
    /// The median time of one call.
    pub subject: Duration,
    /// The median time of the peer.
    pub peer: Duration,
    /// The median over the rounds of subject divided by peer.
    pub ratio: f64,
}

/// Compares two fast operations, in batches.
pub fn compare<A, B>(subject: impl FnMut() -> A, peer: impl FnMut() -> B) -> Comparison {
    let (mut subject, mut peer) = (Batch::sized_for(subject), Batch::sized_for(peer));
    let rounds: Vec<_> = (0..ROUNDS).map(|_| (subject.per_call(), peer.per_call())).collect();
    Comparison::of(&rounds)
}

impl Comparison {
    /// The medians of rounds, each with a time of the subject and one of the peer.
    pub fn of(rounds: &[(Duration, Duration)]) -> Self {
        let seconds = |one: &Duration| one.as_secs_f64();
        let mut subjects: Vec<f64> = rounds.iter().map(|(subject, _)| seconds(subject)).collect();
        let mut peers: Vec<f64> = rounds.iter().map(|(_, peer)| seconds(peer)).collect();
        let mut ratios: Vec<f64> =
            subjects.iter().zip(&peers).map(|(subject, peer)| subject / peer).collect();
        Self {
            subject: Duration::from_secs_f64(median(&mut subjects)),
            peer: Duration::from_secs_f64(median(&mut peers)),
            ratio: median(&mut ratios),
        }
    }
}

/// The median, or 0 if there are no values.
pub fn median(values: &mut [f64]) -> f64 {
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
        // Below a nanosecond a `Duration` is zero and has no ratio.
        Duration::from_secs_f64((self.time().as_secs_f64() / f64::from(self.size)).max(1e-9))
    }
}
