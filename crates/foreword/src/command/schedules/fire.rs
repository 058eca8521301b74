//! `foreword schedules run`: one now, shown as a chat shows a turn.

use std::process::ExitCode;
use std::time::Duration;

use foreword_agent::error::AgentError;
use foreword_agent::schedules::Fired;
use foreword_core::id::ConversationId;
use foreword_core::schedule::Ended;
use foreword_prompt::untrusted::single_line;
use serde_json::json;

use super::{LINE, find};
use crate::chat::interrupts::Interrupts;
use crate::chat::show::Show;
use crate::failure::Failure;
use crate::output::{DIM, Output, RED, styled};
use crate::running::Running;
use crate::world::World;

/// How often a sign of life is due.
const TICK: Duration = Duration::from_millis(250);

pub(super) fn run(name: &str, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let running = Running::start(world)?;
    let config = running.workspace.snapshot().config.clone();
    let fired = find(&config, name).and_then(|_| running.wait(watch(name, &running, output)));
    running.stop();
    tell(name, &fired?, output)
}

/// Fires it, and shows what is said in its conversation.
async fn watch(name: &str, running: &Running, output: &Output) -> Result<Fired, Failure> {
    let conversation = ConversationId::new(format!("schedule-{name}"))
        .map_err(|error| Failure::from(AgentError::from(error)))?;
    let mut interrupts = Interrupts::listen()
        .map_err(|error| Failure::failed(format!("can't listen for Ctrl-C: {error}"), "report this"))?;
    let feed = running.agent.feed(&conversation);
    let (mut next, mut show) = (feed.next(), Show::new(output));
    let mut fired = std::pin::pin!(running.agent.fire_now(name));
    let mut tick = tokio::time::interval(TICK);
    let ended = loop {
        tokio::select! {
            // What has happened is shown before that it is over.
            biased;
            batch = feed.read(next) => {
                for (seq, item) in (next..).zip(&batch.items) {
                    show.progress(item, conversation.as_str(), seq);
                }
                next = batch.next;
            }
            ended = &mut fired => break ended,
            () = interrupts.next() => running.agent.cancel(&conversation),
            _ = tick.tick() => show.tick(),
        }
    };
    show.settle();
    Ok(ended?)
}

fn tell(name: &str, fired: &Fired, output: &Output) -> Result<ExitCode, Failure> {
    if output.wants_json() {
        let end = &fired.end;
        let line = json!({
            "type": "cron_end", "jobId": name, "dueAt": fired.due_at, "status": end.outcome(),
            "error": end.error(), "note": end.note(),
        });
        output.print(&line.to_string())?;
    }
    match &fired.end {
        Ended::Failed { error } => {
            if !output.wants_json() {
                output.say(&format!("{} {}", styled(RED, "failed:"), single_line(error, LINE)));
            }
            Ok(ExitCode::from(1))
        }
        Ended::Skipped { note } | Ended::Done { note: Some(note) } => {
            if !output.wants_json() {
                output.say(&styled(DIM, single_line(note, LINE)));
            }
            Ok(ExitCode::SUCCESS)
        }
        Ended::Done { note: None } => Ok(ExitCode::SUCCESS),
    }
}
