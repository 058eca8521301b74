//! Speed and memory benchmarks. Each is compared with a peer in the same run, because ratios are stable on a busy
//! machine and times are not. Asserts nothing about time; `docs/benchmarks.md` has the expected values.
//!
//! `cargo bench -p foreword-bench` runs everything; arguments after `--` select sections by name.

mod cold_start;
mod growth;
mod jinja_render;
mod life;
mod memory;
mod observability;
mod sample_workspace;
mod simulated_turns;
mod storage;
mod token_counting;
mod turns;
mod warm_build;

use std::process::ExitCode;

use foreword_bench_http::{Found, Outcome, gateway, program, sample, table, timing};
use table::Table;

/// The allocator of the shipped program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Section = (&'static str, fn(&mut Table) -> Outcome);

const SECTIONS: [Section; 16] = [
    ("warm", warm_build::measure),
    ("jinja", jinja_render::measure),
    ("growth", growth::measure),
    ("cold", cold_start::measure),
    ("tokens", token_counting::measure),
    ("memory", memory::measure),
    ("simulate", simulated_turns::measure),
    ("observing", observability::measure),
    ("events", storage::events::measure),
    ("conversations", storage::conversations::measure),
    ("retention", storage::retention::measure),
    ("turns", turns::first_byte::measure),
    ("streams", turns::streams::measure),
    ("inbox", life::inbox::measure),
    ("schedules", life::schedules::measure),
    ("gateway", gateway::measure),
];

fn main() -> ExitCode {
    // Cargo adds its own arguments, such as `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let mut table = Table::default();
    for (name, measure) in SECTIONS {
        if !wanted.is_empty() && !wanted.iter().any(|word| word == name) {
            continue;
        }
        if let Err(error) = measure(&mut table) {
            table.failure(name, &*error);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
