//! Searching and reading, as the tools do it.

use std::sync::Arc;

use foreword_agent::memory::Snippet;
use foreword_prompt::text::with_thousands;
use foreword_workspace::memory_index::{Lines, Reader};
use foreword_workspace::snapshot::Snapshot;
use serde_json::{Value, json};

use super::{Shelf, shown};
use crate::cli::memory::MemoryGetArgs;
use crate::failure::Failure;
use crate::output::{DIM, Output, styled};
use crate::world::World;

pub(super) fn search(
    shelf: &Shelf,
    snapshot: Arc<Snapshot>,
    reader: Reader,
    (query, world): (&str, &World),
    output: &Output,
) -> Result<(), Failure> {
    let found = shelf.wait(shelf.memory.search(snapshot, reader, query))?;
    if output.wants_json() {
        let results: Vec<Value> = found.snippets.iter().map(snippet_json).collect();
        return output.json(&json!({
            "query": found.query, "stores": found.stores.iter().map(|store| store.as_str()).collect::<Vec<_>>(),
            "matches": found.matches, "results": results,
        }));
    }
    let given = found.given();
    if found.snippets.is_empty() {
        output.say(&given.text);
        return Ok(());
    }
    output.print(&shown(given, "search results", world))
}

pub(super) fn get(
    shelf: &Shelf,
    snapshot: Arc<Snapshot>,
    reader: Reader,
    (args, world): (&MemoryGetArgs, &World),
    output: &Output,
) -> Result<(), Failure> {
    let lines = Lines { from: args.from.unwrap_or(1), count: args.lines };
    let read = shelf.wait(shelf.memory.get(snapshot, reader, &args.path, lines))?;
    let passage = &read.passage;
    if output.wants_json() {
        return output.json(&json!({
            "path": read.path, "from": passage.first, "to": passage.last, "of": passage.of, "text": passage.text,
            "tokens": read.tokens, "next": passage.next, "from_outside": read.from_outside,
        }));
    }
    if read.from_outside {
        output.print(&shown(read.given(), &read.path, world))?;
    } else {
        output.exactly(&format!("{}\n", passage.text))?;
    }
    let (first, last, of) = (passage.first, passage.last, with_thousands(passage.of));
    let tokens = with_thousands(read.tokens);
    output.say(&styled(DIM, format!("Lines {first}–{last} of {of}, {tokens} tokens.")));
    if let Some(next) = passage.next {
        output.say(&styled(DIM, format!("Go on with --from {next}.")));
    }
    Ok(())
}

fn snippet_json(snippet: &Snippet) -> Value {
    json!({
        "path": snippet.path, "description": snippet.description, "heading": snippet.heading,
        "from": snippet.from, "lines": snippet.lines, "text": snippet.text, "tokens": snippet.tokens,
        "lines_tokens": snippet.lines_tokens, "whole_tokens": snippet.whole_tokens,
        "from_outside": snippet.from_outside,
    })
}
