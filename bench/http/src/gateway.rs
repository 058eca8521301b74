//! The overhead of Foreword as a proxy: the drop-in endpoint of `foreword serve`, with events and metering, in front
//! of an upstream that responds at once. Compared with a bare pass-through proxy on the same libraries, LiteLLM's
//! proxy and Portkey's gateway, in the same run, each in its own process.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::load::{self, Body};
use crate::peers::Peers;
use crate::report::{self, Figures, Way};
use crate::table::Table;
use crate::target::{self, Target};
use crate::upstream::Upstream;
use crate::{Found, Outcome, bare_proxy, idle_clients};

/// The duration of each measurement.
const EACH: Duration = Duration::from_secs(2);
/// The number of requests over which memory is measured.
const MANY: usize = 100_000;

/// Runs the section.
///
/// # Errors
/// If a program can't be built or started, or does not answer.
pub fn measure(table: &mut Table) -> Outcome {
    table.section("A request through the drop-in endpoint", "a bare pass-through proxy");
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let upstream = Upstream::start()?;
    let bare = bare_proxy::start(&upstream)?;
    let foreword = target::Foreword::start(&upstream)?;
    let peers = Peers::start(&upstream, table)?;
    let direct = Target::direct(&upstream);
    let targets = [&bare, &foreword.observe, &foreword.prepend].into_iter().chain(&peers.targets);
    let targets: Vec<&Target> = targets.collect();
    for way in Way::ALL {
        table.note("");
        table.note(way.title());
        let alone = figures(&runtime, &direct, way)?;
        report::head(table);
        let mut floor_figures = None;
        for target in targets.iter().filter(|target| target.can(way)) {
            let found = match figures(&runtime, target, way) {
                Ok(found) => found,
                // A failing third-party gateway does not stop the other measurements.
                Err(error) if peers.targets.iter().any(|peer| std::ptr::eq(peer, *target)) => {
                    table.note(&format!("  {}: {error}", target.name));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let floor_figures = floor_figures.get_or_insert_with(|| found.clone());
            report::line(table, target.name, &found, &alone, floor_figures);
        }
    }
    memory(&runtime, &foreword.observe, table)?;
    idle_clients::measure(&runtime, &foreword, table)
}

/// Measures one target with one kind of request.
fn figures(runtime: &Runtime, target: &Target, way: Way) -> Found<Figures> {
    let request = target.request(&way.body());
    // Warms up connections, caches and the allocator.
    runtime.block_on(load::run(target.address, &request, 4, EACH / 4))?;
    let before = target.memory();
    let one = runtime.block_on(load::run(target.address, &request, 1, EACH))?;
    let mut best = None;
    let (mut processor, mut requests) = (Duration::ZERO, 0);
    for concurrency in [4, 16, 64] {
        let spent = target.processor_time();
        let many = runtime.block_on(load::run(target.address, &request, concurrency, EACH))?;
        processor += target.processor_time().saturating_sub(spent);
        requests += many.count();
        if many.percentile(99) < Duration::from_millis(10) || best.is_none() {
            best = Some((concurrency, many));
        }
    }
    let memory = (before, target.peak_memory(), target.memory());
    Ok(Figures { one, best, processor, requests, memory })
}

/// Whether memory stays constant over many requests.
fn memory(runtime: &Runtime, target: &Target, table: &mut Table) -> Outcome {
    table.note("");
    let request = target.request(&Body::Small.json());
    let mut line = format!("memory of {} over {MANY} requests:", target.name);
    for done in 0..=4 {
        line.push_str(&format!("  {:.1} MB", target.memory()));
        if done < 4 {
            runtime.block_on(load::run_so_many(target.address, &request, 16, MANY / 4))?;
        }
    }
    table.note(&line);
    Ok(())
}
