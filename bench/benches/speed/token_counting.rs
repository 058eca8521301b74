//! Token counters on 16 KB of prose, next to the hash of the same bytes: what a build saves by not counting again.

use foreword_prompt::tokens::Counter;

use crate::Outcome;
use crate::sample::prose;
use crate::table::Table;
use crate::timing::compare;

const BYTES: usize = 16 * 1024;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("Token counting, 16 KB", "blake3 of the same bytes");
    let text = prose(BYTES);
    for counter in Counter::ALL {
        // The first count loads the vocabulary.
        let tokens = counter.get().count(&text);
        let time = compare(|| counter.get().count(&text), || blake3::hash(text.as_bytes()));
        table.compare(&format!("{counter}: {tokens} tokens"), &time, None);
    }
    let exact = Counter::O200kBase.get();
    let estimate = Counter::Estimate.get();
    table.compare(
        "estimate-v1, peer: o200k_base",
        &compare(|| estimate.count(&text), || exact.count(&text)),
        None,
    );
    Ok(())
}
