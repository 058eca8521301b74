//! The warm build with 10 and 100 times as many skills and memory files: its time must not grow faster than its
//! output.

use std::error::Error;
use std::time::{Duration, Instant};

use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;

use crate::Outcome;
use crate::sample::{Sample, Scale};
use crate::sample_workspace::{open, request};
use crate::table::{Table, readable};
use crate::timing::{compare, median};
use crate::warm_build::{clock_moved, copy};

/// The history that changes the remaining budget in the menu: with less, some builds would come from the prompt cache.
const HISTORY_STEP: usize = 20_000;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("Growth of the warm build", "one copy of the prompt's bytes");
    let mut base = None;
    for factor in [1, 10, 100] {
        let scale = Scale::BASE.times(factor);
        let sample = Sample::write(scale)?;
        let workspace = open(&sample)?;
        let started = Instant::now();
        let built = workspace.build(&request(0)?)?;
        let first = started.elapsed();
        let prompt = &built.prompt;
        let still = request(0)?;
        let same = compare(|| workspace.build(&still), || copy(prompt));
        let moved = clock_moved(&workspace, prompt)?;
        let bytes = copy(prompt).len();
        table.note(&format!("×{factor}: {} skills, {} memory files", scale.skills, scale.memories));
        table.compare("  same minute", &same, None);
        table.compare("  clock moved by a minute", &moved, None);
        let (bytes_1, moved_1) = *base.get_or_insert((bytes, moved.subject));
        table.note(&format!(
            "  {bytes} bytes out, ×{:.2}; time with a moved clock ×{:.2}",
            bytes as f64 / bytes_1 as f64,
            moved.subject.as_secs_f64() / moved_1.as_secs_f64(),
        ));
        table.note(&format!(
            "  first build {}; from memory after the history has grown {}",
            readable(first),
            readable(history_grown(&workspace)?),
        ));
    }
    Ok(())
}

/// The time of a build with all files cached but no prompt, because the history takes more of the token budget.
fn history_grown(workspace: &Workspace) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::new();
    for turn in 1..=9 {
        let request = Request { history_tokens: turn * HISTORY_STEP, ..request(0)? };
        let started = Instant::now();
        workspace.build(&request)?;
        times.push(started.elapsed().as_secs_f64());
    }
    Ok(Duration::from_secs_f64(median(&mut times)))
}
