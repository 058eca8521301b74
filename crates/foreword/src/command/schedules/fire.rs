//! `foreword schedules run`: fires a schedule now and shows it like a turn in a chat.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::background::schedules::{FiringFeed, FiringResult};
use foreword_agent::conversation::feed::Progress;
use foreword_core::id::{ConversationId, RunId};
use foreword_core::schedule::FiringEnd;
use serde_json::json;

use super::find;
use crate::chat::interrupts::Interrupts;
use crate::chat::one_line::{escape_invisible, strip_control_sequences};
use crate::chat::show::Show;
use crate::failure::Failure;
use crate::output::{DIM, Output, RED, styled};
use crate::process_context::ProcessContext;
use crate::running_agent::RunningAgent;

/// How many recent firings are searched for this one.
const RECENT_FIRINGS: u32 = 100;
/// How often the wait indicator is redrawn.
const TICK_INTERVAL: Duration = Duration::from_millis(250);

pub(super) fn run(name: &str, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let running = RunningAgent::start(process)?;
    let config = running.workspace.snapshot().config.clone();
    let watched = find(&config, name).and_then(|_| running.wait(watch(name, &running, output)));
    running.stop();
    print_outcome(name, &watched?, output)
}

struct WatchedFiring {
    fired: FiringResult,
    reason_shown: bool,
    run: Option<RunId>,
    /// Whether Ctrl-C ended the wait.
    left: bool,
}

/// Fires a schedule and shows its conversation.
async fn watch(name: &str, running: &RunningAgent, output: &Output) -> Result<WatchedFiring, Failure> {
    let mut interrupts = Interrupts::listen()
        .map_err(|error| Failure::failed(format!("can't listen for Ctrl-C: {error}"), "report this bug"))?;
    let mut firing = running.agent.begin_fire_now(name).await?;
    let mut heard = firing.feed.take();
    let mut show = Show::new(output);
    let (mut spoken, mut reason_shown, mut asked) = (false, false, false);
    let mut tick = tokio::time::interval(TICK_INTERVAL);
    let fired = loop {
        tokio::select! {
            // Shows progress before the end.
            biased;
            items = next_progress(&mut heard) => {
                for (seq, conversation, item) in items {
                    spoken |= matches!(*item, Progress::Text(_));
                    reason_shown |= matches!(*item, Progress::TurnEnded { failure: Some(_), .. });
                    show.progress(&item, conversation.as_str(), seq);
                }
            }
            ended = firing.ended() => break ended?,
            () = interrupts.next() => match &heard {
                // Cancelling the turn ends the firing, unless another process runs the turn.
                Some(heard) if !asked => {
                    asked = true;
                    running.agent.cancel(&heard.conversation);
                }
                _ => {
                    show.finish_line();
                    return Ok(WatchedFiring { run: firing.run.clone(), fired: firing.stop().await, reason_shown: true, left: true });
                }
            },
            _ = tick.tick() => show.tick(),
        }
    };
    if !spoken
        && let Some(heard) = &heard
        && let Some(words) = answer(name, &fired, running).await?
    {
        show.progress(&Progress::Text(words), heard.conversation.as_str(), heard.from);
    }
    show.finish_line();
    Ok(WatchedFiring { fired, reason_shown, run: firing.run, left: false })
}

/// The next progress in the firing's conversation.
async fn next_progress(heard: &mut Option<FiringFeed>) -> Vec<(u64, ConversationId, Arc<Progress>)> {
    let Some(heard) = heard else { return std::future::pending().await };
    let batch = heard.feed.read(heard.from).await;
    let items = (heard.from..).zip(batch.items);
    let items = items.map(|(seq, item)| (seq, heard.conversation.clone(), item)).collect();
    heard.from = batch.next;
    items
}

/// The answer of a turn that another process ran.
async fn answer(name: &str, fired: &FiringResult, running: &RunningAgent) -> Result<Option<String>, Failure> {
    let firings = running.store.firings(name, RECENT_FIRINGS).await?;
    let own = firings.into_iter().find(|firing| firing.due_at == fired.due_at);
    let Some(message) = own.and_then(|firing| firing.links.message) else { return Ok(None) };
    let answer = running.store.answer_to(&message).await?;
    Ok(answer.map(|answer| answer.text).filter(|text| !text.is_empty()))
}

fn print_outcome(name: &str, watched: &WatchedFiring, output: &Output) -> Result<ExitCode, Failure> {
    let fired = &watched.fired;
    if output.wants_json() {
        let end = &fired.end;
        let line = json!({
            "type": "cron_end", "jobId": name, "dueAt": fired.due_at, "status": end.outcome(),
            "error": end.error(), "note": end.note(), "run": watched.run, "output": fired.output,
        });
        output.print(&line.to_string())?;
    }
    if !output.wants_json() {
        if let Some(words) = &fired.output {
            output.print_exact(&format!("{}\n", strip_control_sequences(words.trim_end_matches('\n'))))?;
        }
        if watched.left {
            output.print_stderr(&interrupted(watched.run.as_ref()));
        } else if let Some(run) = &watched.run {
            output.print_stderr(&styled(DIM, format!("run {run}: see `foreword workflows status {run}`")));
        }
    }
    match &fired.end {
        FiringEnd::Failed { error } => {
            if !output.wants_json() && !watched.reason_shown {
                output.print_stderr(&format!("{} {}", styled(RED, "error:"), escape_invisible(error)));
            }
            Ok(ExitCode::from(1))
        }
        FiringEnd::Skipped { note } | FiringEnd::Done { note: Some(note) } => {
            if !output.wants_json() {
                output.print_stderr(&styled(DIM, escape_invisible(note)));
            }
            Ok(ExitCode::SUCCESS)
        }
        FiringEnd::Done { note: None } => Ok(ExitCode::SUCCESS),
    }
}

/// Explains what happens to a firing that is no longer watched.
fn interrupted(run: Option<&RunId>) -> String {
    match run {
        Some(run) => format!(
            "interrupted: the workflow stopped at its current step; resume it with `foreword workflows resume {run}`, half a \
             minute from now"
        ),
        None => "interrupted: the firing stopped; a turn that has started will be resumed".to_owned(),
    }
}
