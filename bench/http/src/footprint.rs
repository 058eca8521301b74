//! Size and memory: the binary, an idle server, what it consists of, and what conversations and load add.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use tokio::runtime::Builder;

use crate::process::MemoryPart;
use crate::report::Way;
use crate::sample::Scale;
use crate::table::Table;
use crate::target::Foreword;
use crate::upstream::Upstream;
use crate::{Found, Outcome, bare_proxy, client, load, program};

const CONVERSATIONS: usize = 1_000;
const IDLE: Duration = Duration::from_secs(3);
const LOAD: Duration = Duration::from_secs(5);

/// Runs the section.
///
/// # Errors
/// If a program can't be built or started, or does not answer.
pub fn measure(table: &mut Table) -> Outcome {
    table.heading("Size and memory, next to the bare proxy");
    let (ours, bare) = (megabytes(&program::program()?)?, megabytes(&program::bare_proxy()?)?);
    table.note(&format!("binary: {ours:.1} MB, bare proxy {bare:.1} MB (goal: 25)"));
    let upstream = Upstream::start()?;
    let proxy = bare_proxy::start(&upstream)?;
    let foreword = Foreword::start_with(&upstream, Scale { skills: 0, memories: 0 })?;
    sleep(IDLE);
    let idle = foreword.observe.memory();
    table.note(&format!("idle: {idle:.1} MB, bare proxy {:.1} MB (goal: 25)", proxy.memory()));
    for (part, kilobytes) in foreword.observe.memory_parts() {
        table.note(&format!("  {:>6.1} MB {}", kilobytes as f64 / 1024.0, title(part)));
    }
    conversations(table, &foreword)?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let request = foreword.observe.request(&Way::SmallJson.body());
    let load = runtime.block_on(load::run(foreword.address(), &request, 16, LOAD))?;
    table.note(&format!(
        "at {:.0} proxied requests/s: peak {:.1} MB (goal: 80)",
        load.per_second(),
        foreword.observe.peak_memory()
    ));
    Ok(())
}

fn conversations(table: &mut Table, foreword: &Foreword) -> Outcome {
    let (address, token) = (foreword.address(), &foreword.owner);
    let first = client::create_conversation(address, token)?;
    let path = |id: &str| format!("/api/v1/conversations/{id}/messages");
    // Loads what the first turn needs.
    client::post(address, token, &path(&first), r#"{"text":"hello"}"#)?;
    sleep(IDLE);
    let before = foreword.observe.memory();
    table.note(&format!("after the first turn: {before:.1} MB"));
    for _ in 0..CONVERSATIONS {
        let id = client::create_conversation(address, token)?;
        client::post(address, token, &path(&id), r#"{"text":"hello"}"#)?;
    }
    sleep(IDLE);
    let added = foreword.observe.memory() - before;
    table.note(&format!("{CONVERSATIONS} conversations with a turn each, just ended: {added:+.1} MB"));
    Ok(())
}

fn megabytes(path: &Path) -> Found<f64> {
    Ok(std::fs::metadata(path)?.len() as f64 / 1e6)
}

fn title(part: MemoryPart) -> &'static str {
    match part {
        MemoryPart::Program => "pages of the binary: code and constants",
        MemoryPart::Libraries => "pages of shared libraries",
        MemoryPart::Relocations => "data of the binary and its libraries, written at start",
        MemoryPart::Stacks => "stacks of threads",
        MemoryPart::Heap => "heap: the allocator, with the caches of SQLite",
        MemoryPart::Files => "mapped files, such as the index of SQLite's log",
    }
}
