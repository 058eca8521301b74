//! The baseline: `bare-proxy PORT UPSTREAM` forwards every request to the upstream, until killed.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match &arguments[..] {
        [port, upstream] => foreword_bench_http::bare_proxy::run(port, upstream),
        _ => Err("usage: bare-proxy PORT UPSTREAM_ADDRESS".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            foreword_bench_http::table::Table::default().failure("bare-proxy", &*error);
            ExitCode::FAILURE
        }
    }
}
