//! Whole turns over HTTP: clients post messages to `foreword serve` on SQLite with the offline model. Each message is
//! durable before it is answered.

use std::time::Duration;

use tokio::runtime::Builder;

use crate::sample::Scale;
use crate::table::{Table, readable};
use crate::target::Foreword;
use crate::upstream::Upstream;
use crate::{Outcome, client, load};

const CLIENTS: usize = 32;
const WARM_UP: Duration = Duration::from_secs(2);
const TIME: Duration = Duration::from_secs(10);

/// Runs the section.
///
/// # Errors
/// If a program can't be built or started, or does not answer.
pub fn measure(table: &mut Table) -> Outcome {
    table.heading("Turns over HTTP: 32 clients, SQLite, the offline model");
    let upstream = Upstream::start()?;
    let foreword = Foreword::start_with(&upstream, Scale { skills: 10, memories: 100 })?;
    let (address, token) = (foreword.address(), &foreword.owner);
    let mut requests = Vec::new();
    for _ in 0..CLIENTS {
        let id = client::create_conversation(address, token)?;
        let path = format!("/api/v1/conversations/{id}/messages");
        requests.push(client::request(address, token, &path, r#"{"text":"hello"}"#, "keep-alive"));
    }
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(load::run_each(address, &requests, WARM_UP))?;
    let before = foreword.observe.processor_time();
    let load = runtime.block_on(load::run_each(address, &requests, TIME))?;
    let spent = foreword.observe.processor_time().saturating_sub(before);
    let each = spent / u32::try_from(load.count().max(1))?;
    table.note(&format!("{:.0} turns/s (goal: 1,500)", load.per_second()));
    table.note(&format!(
        "p50 {}, p99 {} (goal: 50 ms)",
        readable(load.percentile(50)),
        readable(load.percentile(99))
    ));
    table.note(&format!("{} of CPU time each", readable(each)));
    table.note(&format!("peak memory {:.1} MB (goal: 60)", foreword.observe.peak_memory()));
    Ok(())
}
