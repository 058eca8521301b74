//! The prompt of a workspace that was built before, compared with one copy of its bytes. The directory is deleted
//! first, to show that nothing is read from it.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use foreword_prompt::prompt::Prompt;
use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;

use crate::Outcome;
use crate::sample::{FILES, Sample, Scale};
use crate::sample_workspace::{open, request};
use crate::table::Table;
use crate::timing::{Comparison, compare};

/// The maximum ratio to a copy.
const TARGET: f64 = 2.0;
/// Requests with different times, created beforehand. All within a day: a new weekday may have another token count,
/// which rebuilds the prompt.
const MINUTES: i64 = 900;
/// The tokens of a message and its answer.
const HISTORY_STEP: usize = 150;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    let sample = Sample::write(Scale::BASE)?;
    let workspace = open(&sample)?;
    let first = workspace.build(&request(0)?)?;
    describe(table, &first.prompt);
    drop(sample);

    let still = request(0)?;
    let prompt = &first.prompt;
    let same_minute = compare(|| workspace.build(&still), || copy(prompt));
    table.compare("same minute", &same_minute, Some(TARGET));
    table.compare("clock moved by a minute", &clock_moved(&workspace, prompt)?, Some(TARGET));

    let with_text =
        compare(|| workspace.build(&still).map(|built| built.prompt.turn_context()), || copy(prompt));
    table.compare("same minute, turn context as one string", &with_text, None);

    let next = AtomicUsize::new(0);
    let grown = || {
        let history_tokens = next.fetch_add(HISTORY_STEP, Ordering::Relaxed);
        workspace.build(&Request { history_tokens, ..still.clone() })
    };
    table.compare("history grown by a message", &compare(grown, || copy(prompt)), None);

    let rebuilt = rebuilds_of_a_day(&workspace)?;
    table.note(&format!("the frozen text is shared: made {rebuilt} times more in the 1440 minutes of a day"));
    table.note("the workspace directory was deleted before the first warm build");
    Ok(())
}

/// How often the frozen text is rebuilt in a day if only the clock changes.
fn rebuilds_of_a_day(workspace: &Workspace) -> Result<usize, Box<dyn Error>> {
    let mut frozen = Arc::clone(&workspace.build(&request(0)?)?.prompt.frozen);
    let mut rebuilt = 0;
    for minute in 1..=24 * 60 {
        let now = Arc::clone(&workspace.build(&request(minute)?)?.prompt.frozen);
        rebuilt += usize::from(!Arc::ptr_eq(&frozen, &now));
        frozen = now;
    }
    Ok(rebuilt)
}

/// The time of a warm build when every call is in another minute.
pub(crate) fn clock_moved(workspace: &Workspace, prompt: &Prompt) -> Result<Comparison, jiff::Error> {
    let minutes = (0..MINUTES).map(request).collect::<Result<Vec<_>, _>>()?;
    let next = AtomicUsize::new(0);
    let build = || workspace.build(&minutes[next.fetch_add(1, Ordering::Relaxed) % minutes.len()]);
    Ok(compare(build, || copy(prompt)))
}

/// All bytes of a prompt in a new string.
pub(crate) fn copy(prompt: &Prompt) -> String {
    let prompt = black_box(prompt);
    let size: usize = prompt.turn.iter().map(|one| one.text.len()).sum();
    let mut out = String::with_capacity(prompt.frozen.text.len() + size);
    out.push_str(&prompt.frozen.text);
    for one in &prompt.turn {
        out.push_str(&one.text);
    }
    out
}

fn describe(table: &mut Table, prompt: &Prompt) {
    table.section("Warm build of blueprint `gateway`", "one copy of the prompt's bytes");
    let kilobytes: usize = FILES.iter().map(|(_, size)| size).sum::<usize>() / 1024;
    let tools = prompt.frozen.text.lines().filter(|line| line.starts_with("- **")).count();
    table.note(&format!(
        "{} files, {kilobytes} KB (MEMORY.md 16 KB, in the menu); {} skills; {} memory files; {tools} tools",
        FILES.len(),
        Scale::BASE.skills,
        Scale::BASE.memories,
    ));
    let turn: usize = prompt.turn.iter().map(|one| one.text.len()).sum();
    table.note(&format!(
        "prompt: {} bytes frozen, {turn} bytes turn context, {} tokens",
        prompt.frozen.text.len(),
        prompt.tokens()
    ));
}
