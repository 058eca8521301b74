//! `foreword schedules run`: one now, shown as a chat shows a turn.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use foreword_agent::feed::Progress;
use foreword_agent::schedules::{Fired, Heard};
use foreword_core::id::{ConversationId, RunId};
use foreword_core::schedule::Ended;
use serde_json::json;

use super::find;
use crate::chat::interrupts::Interrupts;
use crate::chat::one_line::{exposed, harmless};
use crate::chat::show::Show;
use crate::failure::Failure;
use crate::output::{DIM, Output, RED, styled};
use crate::running::Running;
use crate::world::World;

/// Among how many of the last firings the own one is.
const LATEST: u32 = 100;
/// How often a sign of life is due.
const TICK: Duration = Duration::from_millis(250);

pub(super) fn run(name: &str, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let running = Running::start(world)?;
    let config = running.workspace.snapshot().config.clone();
    let watched = find(&config, name).and_then(|_| running.wait(watch(name, &running, output)));
    running.stop();
    tell(name, &watched?, output)
}

/// A firing, and what was shown of it.
struct Watched {
    fired: Fired,
    /// Whether it was said why it failed.
    told_why: bool,
    run: Option<RunId>,
    /// Whether somebody pressed Ctrl-C and it was left.
    left: bool,
}

/// Fires it, and shows what is said in its conversation.
async fn watch(name: &str, running: &Running, output: &Output) -> Result<Watched, Failure> {
    let mut interrupts = Interrupts::listen()
        .map_err(|error| Failure::failed(format!("can't listen for Ctrl-C: {error}"), "report this"))?;
    let mut firing = running.agent.begin_fire_now(name).await?;
    let mut heard = firing.heard.take();
    let mut show = Show::new(output);
    let (mut spoken, mut told_why, mut asked) = (false, false, false);
    let mut tick = tokio::time::interval(TICK);
    let fired = loop {
        tokio::select! {
            // What has happened is shown before that it is over.
            biased;
            items = next_words(&mut heard) => {
                for (seq, conversation, item) in items {
                    spoken |= matches!(*item, Progress::Text(_));
                    told_why |= matches!(*item, Progress::TurnEnded { failure: Some(_), .. });
                    show.progress(&item, conversation.as_str(), seq);
                }
            }
            ended = firing.ended() => break ended?,
            () = interrupts.next() => match &heard {
                // Its turn ends then, and the firing with it, unless another process has the turn.
                Some(heard) if !asked => {
                    asked = true;
                    running.agent.cancel(&heard.conversation);
                }
                _ => {
                    show.settle();
                    return Ok(Watched { run: firing.run.clone(), fired: firing.stop().await, told_why: true, left: true });
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
    show.settle();
    Ok(Watched { fired, told_why, run: firing.run, left: false })
}

/// What happens next where the firing speaks.
async fn next_words(heard: &mut Option<Heard>) -> Vec<(u64, ConversationId, Arc<Progress>)> {
    let Some(heard) = heard else { return std::future::pending().await };
    let batch = heard.feed.read(heard.from).await;
    let items = (heard.from..).zip(batch.items);
    let items = items.map(|(seq, item)| (seq, heard.conversation.clone(), item)).collect();
    heard.from = batch.next;
    items
}

/// What was answered where nothing was heard of it: by another process.
async fn answer(name: &str, fired: &Fired, running: &Running) -> Result<Option<String>, Failure> {
    let firings = running.store.firings(name, LATEST).await?;
    let own = firings.into_iter().find(|firing| firing.due_at == fired.due_at);
    let Some(message) = own.and_then(|firing| firing.place.message) else { return Ok(None) };
    let answer = running.store.answer_to(&message).await?;
    Ok(answer.map(|answer| answer.text).filter(|text| !text.is_empty()))
}

fn tell(name: &str, watched: &Watched, output: &Output) -> Result<ExitCode, Failure> {
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
            output.exactly(&format!("{}\n", harmless(words.trim_end_matches('\n'))))?;
        }
        if watched.left {
            output.say(&interrupted(watched.run.as_ref()));
        } else if let Some(run) = &watched.run {
            output.say(&styled(DIM, format!("run {run}: `foreword workflows status {run}` shows it")));
        }
    }
    match &fired.end {
        Ended::Failed { error } => {
            if !output.wants_json() && !watched.told_why {
                output.say(&format!("{} {}", styled(RED, "error:"), exposed(error)));
            }
            Ok(ExitCode::from(1))
        }
        Ended::Skipped { note } | Ended::Done { note: Some(note) } => {
            if !output.wants_json() {
                output.say(&styled(DIM, exposed(note)));
            }
            Ok(ExitCode::SUCCESS)
        }
        Ended::Done { note: None } => Ok(ExitCode::SUCCESS),
    }
}

/// What becomes of a firing that was left.
fn interrupted(run: Option<&RunId>) -> String {
    match run {
        Some(run) => format!(
            "interrupted: the workflow is stopped where it is; `foreword workflows resume {run}` goes on with it, half a \
             minute from now"
        ),
        None => "interrupted: the firing is stopped; a turn it has begun is not lost and is gone on with"
            .to_owned(),
    }
}
