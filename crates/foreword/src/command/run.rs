//! `foreword run`: the agent lives in the foreground until it is told to stop. One line for each thing that happens.

use std::process::ExitCode;
use std::time::Duration;

use foreword_agent::inbox::{Answering, InboxNews, Ticked};
use foreword_agent::schedules::{Clockwork, News};
use foreword_agent::watching::Reloaded;
use foreword_core::schedule::Ended;
use foreword_core::timestamp::Timestamp;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::tick::ticked_json;
use crate::chat::one_line::exposed;
use crate::failure::Failure;
use crate::output::{BOLD, DIM, GREEN, Output, RED, YELLOW, counted, styled};
use crate::running::Running;
use crate::signals::Signals;
use crate::world::World;

pub(crate) fn run(world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let running = Running::start(world)?;
    running.keep_metrics();
    let result = running.wait(live(&running, output));
    running.stop();
    result
}

async fn live(running: &Running, output: &Output) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen()
        .map_err(|error| Failure::failed(format!("can't listen for Ctrl-C: {error}"), "report this"))?;
    let mut reloads = running.agent.watch_workspace();
    running.agent.recover().await?;
    let clockwork = Clockwork::start(&running.agent);
    let mut news = clockwork.news();
    let answering = Answering::start(&running.agent);
    let mut answers = answering.news();
    greet(running, output);
    loop {
        tokio::select! {
            () = signals.next() => break,
            heard = news.recv() => match heard {
                Ok(heard) => tell(&heard, output)?,
                Err(RecvError::Lagged(missed)) => output.warn(&format!("{missed} lines were too many to show")),
                Err(RecvError::Closed) => break,
            },
            answered = answers.recv() => match answered {
                Ok(answered) => tell_answer(&answered, output)?,
                Err(RecvError::Lagged(missed)) => output.warn(&format!("{missed} lines were too many to show")),
                Err(RecvError::Closed) => break,
            },
            reloaded = reloads.recv() => {
                if let Ok(reloaded) = reloaded {
                    tell_reload(&reloaded, output)?;
                }
            }
        }
    }
    if !output.wants_json() {
        output.say(&styled(DIM, "stopping: what is under way is gone on with by whoever runs next"));
    }
    answering.stop().await;
    clockwork.stop().await;
    Ok(ExitCode::SUCCESS)
}

fn greet(running: &Running, output: &Output) {
    if output.wants_json() {
        return;
    }
    let config = running.workspace.snapshot().config.clone();
    let enabled = config.schedules.values().filter(|schedule| schedule.enabled).count();
    let what = match enabled {
        0 => "no schedules: section `schedules` of foreword.yaml is where they are written".to_owned(),
        count => format!("{}, listed by `foreword schedules`", counted(count as u64, "schedule")),
    };
    output.say(&format!("{} is running; {what}. Ctrl-C stops.", styled(BOLD, &config.agent.name)));
}

fn tell(news: &News, output: &Output) -> Result<(), Failure> {
    if output.wants_json() {
        return output.print(&news_json(news).to_string());
    }
    match news {
        News::Fired { schedule, .. } => line(output, &format!("{} fires", styled(BOLD, schedule))),
        News::Ended { schedule, end, took, .. } => {
            let schedule = styled(BOLD, schedule);
            let took = seconds(*took);
            let words = match end {
                Ended::Done { note: None } => format!("{schedule} {} in {took}", styled(GREEN, "done")),
                Ended::Done { note: Some(note) } => {
                    format!("{schedule} {} in {took}: {}", styled(GREEN, "done"), exposed(note))
                }
                Ended::Failed { error } => {
                    format!("{schedule} {} after {took}: {}", styled(RED, "failed"), exposed(error))
                }
                Ended::Skipped { note } => {
                    format!("{schedule} {}: {}", styled(YELLOW, "skipped"), exposed(note))
                }
            };
            line(output, &words);
        }
        News::Trouble(why) => {
            let why = exposed(why);
            line(output, &format!("{} {why}; it is tried again", styled(RED, "can't fire schedules:")));
        }
    }
    Ok(())
}

fn tell_answer(news: &InboxNews, output: &Output) -> Result<(), Failure> {
    let ticked = match news {
        InboxNews::Batch(ticked) => ticked,
        InboxNews::Trouble(why) if output.wants_json() => {
            let trouble = json!({ "type": "channel_error", "channel": "inbox", "error": why });
            return output.print(&trouble.to_string());
        }
        InboxNews::Trouble(why) => {
            let why = exposed(why);
            line(output, &format!("{} {why}; it is tried again", styled(RED, "can't answer the inbox:")));
            return Ok(());
        }
    };
    if output.wants_json() {
        return output.print(&ticked_json(ticked).to_string());
    }
    if let Ticked::Inbox { messages, replies, error, set_aside, .. } = ticked {
        let taken = counted(messages.len() as u64, "message");
        let words = match error {
            Some(error) => format!("{} over {taken}: {}", styled(RED, "failed"), exposed(error)),
            None => format!("{taken} answered with {}", counted(replies.len() as u64, "reply")),
        };
        line(output, &format!("{} {words}", styled(BOLD, "inbox")));
        if !set_aside.is_empty() {
            let count = counted(set_aside.len() as u64, "message");
            line(
                output,
                &format!("{} {count} set aside: `foreword inbox list --set-aside`", styled(YELLOW, "inbox")),
            );
        }
    }
    Ok(())
}

fn tell_reload(reloaded: &Reloaded, output: &Output) -> Result<(), Failure> {
    let (json, words) = match reloaded {
        Reloaded::Changed(sections) if sections.is_empty() => return Ok(()),
        Reloaded::Changed(sections) => (
            json!({ "type": "config_reload", "changedSections": sections }),
            format!("foreword.yaml has changed: {}", sections.join(", ")),
        ),
        Reloaded::Refused(why) => (
            json!({ "type": "config_reload", "error": why }),
            format!(
                "{} {}; the old one stays in force",
                styled(RED, "foreword.yaml is refused:"),
                exposed(why)
            ),
        ),
    };
    if output.wants_json() {
        return output.print(&json.to_string());
    }
    line(output, &words);
    Ok(())
}

fn line(output: &Output, words: &str) {
    let time = jiff::Zoned::now().strftime("%H:%M:%S").to_string();
    output.say(&format!("{} {words}", styled(DIM, time)));
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

fn news_json(news: &News) -> Value {
    let about = |kind: &str, schedule: &str, due_at: &Timestamp| json!({ "type": kind, "jobId": schedule, "dueAt": due_at });
    match news {
        News::Fired { schedule, due_at } => about("cron_start", schedule, due_at),
        News::Ended { schedule, due_at, end, took } => {
            let mut out = about("cron_end", schedule, due_at);
            out["status"] = json!(end.outcome());
            out["durationMs"] = json!(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
            if let Some(error) = end.error() {
                out["error"] = json!(error);
            }
            if let Some(note) = end.note() {
                out["note"] = json!(note);
            }
            out
        }
        News::Trouble(why) => json!({ "type": "cron_error", "error": why }),
    }
}
