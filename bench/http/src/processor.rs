//! The CPU time of a request through the drop-in endpoint, as a ratio to the bare proxy. The targets take turns, and the
//! ratio is the median over the rounds, so that other load on the machine falls on all of them.

use std::thread::sleep;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::report::Way;
use crate::table::{Table, readable};
use crate::target::{Foreword, Target};
use crate::timing::Comparison;
use crate::upstream::Upstream;
use crate::{Found, Outcome, bare_proxy, load};

const CONNECTIONS: usize = 16;
const ROUNDS: usize = 5;
/// The duration of each measurement.
const EACH: Duration = Duration::from_millis(1_500);
/// Until the recording of the last requests is finished.
const SETTLE: Duration = Duration::from_millis(400);
/// The goals of `observe` and `prepend`.
const GOALS: [f64; 2] = [1.5, 2.0];

/// Runs the section.
///
/// # Errors
/// If a program can't be built or started, or does not answer.
pub fn measure(table: &mut Table) -> Outcome {
    table.section("CPU time of a request at 16 connections", "a bare pass-through proxy");
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let upstream = Upstream::start()?;
    let bare = bare_proxy::start(&upstream)?;
    let foreword = Foreword::start(&upstream)?;
    for way in Way::ALL {
        let targets = [&bare, &foreword.observe, &foreword.prepend];
        for target in targets {
            // Warms up connections, caches and the allocator.
            each(&runtime, target, way, EACH / 3)?;
        }
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push([
                each(&runtime, targets[0], way, EACH)?,
                each(&runtime, targets[1], way, EACH)?,
                each(&runtime, targets[2], way, EACH)?,
            ]);
        }
        table.note(way.title());
        for (target, goal) in [1, 2].into_iter().zip(GOALS) {
            let pairs: Vec<_> = rounds.iter().map(|times| (times[target], times[0])).collect();
            table.compare(&format!("  {}", targets[target].name), &Comparison::of(&pairs), Some(goal));
        }
    }
    let memory = foreword.observe.peak_memory();
    table.note(&format!("peak memory of foreword: {memory:.1} MB (aim: at most 80)"));
    Ok(())
}

/// The CPU time of one request.
fn each(runtime: &Runtime, target: &Target, way: Way, time: Duration) -> Found<Duration> {
    let request = target.request(&way.body());
    let before = target.processor_time();
    let load = runtime.block_on(load::run(target.address, &request, CONNECTIONS, time))?;
    sleep(SETTLE);
    let spent = target.processor_time().saturating_sub(before);
    let requests = u32::try_from(load.count().max(1))?;
    if load.count() == 0 {
        return Err(format!("{} answered no request in {}", target.name, readable(time)).into());
    }
    Ok(spent / requests)
}
