//! Token counters on 16 KB of prose, compared with hashing the same bytes: what a build saves by caching counts.

use foreword_prompt::tokens::Tokenizer;

use crate::Outcome;
use crate::sample::prose;
use crate::table::Table;
use crate::timing::compare;

const BYTES: usize = 16 * 1024;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("Token counting, 16 KB", "blake3 of the same bytes");
    let text = prose(BYTES);
    for counter in Tokenizer::ALL {
        // The first count loads the vocabulary.
        let tokens = counter.get().count(&text);
        let time = compare(|| counter.get().count(&text), || blake3::hash(text.as_bytes()));
        table.compare(&format!("{counter}: {tokens} tokens"), &time, None);
    }
    let exact = Tokenizer::O200kBase.get();
    let estimate = Tokenizer::Estimate.get();
    table.compare(
        "estimate-v1, peer: o200k_base",
        &compare(|| estimate.count(&text), || exact.count(&text)),
        None,
    );
    Ok(())
}
