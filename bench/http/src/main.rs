//! `cargo run --release -p foreword-bench-http --bin bench-http -- [SECTION…]` measures a running `foreword serve`.
//! `FOREWORD_BIN` and `FOREWORD_BARE_PROXY` name the programs; without them, release builds are measured.

use std::process::ExitCode;

use foreword_bench_http::table::Table;
use foreword_bench_http::{Outcome, footprint, gateway, processor, server_turns};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Section = (&'static str, fn(&mut Table) -> Outcome);

const SECTIONS: [Section; 4] = [
    ("footprint", footprint::measure),
    ("processor", processor::measure),
    ("turns", server_turns::measure),
    ("gateway", gateway::measure),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = wanted.iter().find(|word| !SECTIONS.iter().any(|(name, _)| name == word)) {
        let error =
            format!("`{unknown}` is not a section; there are {}", SECTIONS.map(|(name, _)| name).join(", "));
        Table::default().failure("arguments", &*Box::<dyn std::error::Error>::from(error));
        return ExitCode::from(2);
    }
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
