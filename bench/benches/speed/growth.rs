//! The warm build again with ten and a hundred times the skills and memory files: it must not grow faster than what it
//! puts out.

use std::time::Instant;

use crate::Outcome;
use crate::sample::{Sample, Scale, request};
use crate::table::{Table, readable};
use crate::timing::compare;
use crate::warm_build::{clock_moved, copy};

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("Growth of the warm build", "one copy of the prompt's bytes");
    let mut base = None;
    for factor in [1, 10, 100] {
        let scale = Scale::BASE.times(factor);
        let sample = Sample::write(scale)?;
        let workspace = sample.open()?;
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
            "  {bytes} bytes out, ×{:.2}; time with a moved clock ×{:.2}; first build {}",
            bytes as f64 / bytes_1 as f64,
            moved.subject.as_secs_f64() / moved_1.as_secs_f64(),
            readable(first),
        ));
    }
    Ok(())
}
