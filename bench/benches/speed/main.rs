//! Speed and memory of Foreword, each next to a peer that is timed in the same run: a ratio survives a busy machine, a
//! time does not. Asserts nothing about time; what is expected is said in `docs/benchmarks.md`.
//!
//! `cargo bench -p foreword-bench` runs everything; words behind `--` choose sections by name.

mod cold_start;
mod growth;
mod jinja_render;
mod life;
mod memory;
mod observing;
mod sample;
mod simulated_turns;
mod storage;
mod table;
mod timing;
mod token_counting;
mod turns;
mod warm_build;

use std::error::Error;
use std::process::ExitCode;

use table::Table;

/// As in the shipped program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome = Result<(), Box<dyn Error>>;
type Section = (&'static str, fn(&mut Table) -> Outcome);

const SECTIONS: [Section; 15] = [
    ("warm", warm_build::measure),
    ("jinja", jinja_render::measure),
    ("growth", growth::measure),
    ("cold", cold_start::measure),
    ("tokens", token_counting::measure),
    ("memory", memory::measure),
    ("simulate", simulated_turns::measure),
    ("observing", observing::measure),
    ("events", storage::events::measure),
    ("conversations", storage::conversations::measure),
    ("retention", storage::retention::measure),
    ("turns", turns::first_byte::measure),
    ("streams", turns::streams::measure),
    ("inbox", life::inbox::measure),
    ("schedules", life::schedules::measure),
];

fn main() -> ExitCode {
    // Cargo adds words of its own, such as `--bench`.
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
