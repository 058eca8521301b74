//! Searches and reads memory, like the tools.

use foreword_agent::memory::Snippet;
use foreword_prompt::text::with_thousands;
use foreword_workspace::memory_index::Lines;
use serde_json::{Value, json};

use super::{MemoryAccess, MemoryViewer, framed_text};
use crate::cli::memory::MemoryGetArgs;
use crate::failure::Failure;
use crate::output::{DIM, Output, styled};
use crate::process_context::ProcessContext;

pub(super) fn search(
    access: &MemoryAccess,
    MemoryViewer { snapshot, reader }: MemoryViewer,
    query: &str,
    process: &ProcessContext,
    output: &Output,
) -> Result<(), Failure> {
    let found = access.wait(access.memory.search(snapshot, reader, query))?;
    if output.wants_json() {
        let results: Vec<Value> = found.snippets.iter().map(snippet_json).collect();
        return output.json(&json!({
            "query": found.query, "stores": found.stores.iter().map(|store| store.as_str()).collect::<Vec<_>>(),
            "matches": found.matches, "results": results,
        }));
    }
    let given = found.answer();
    if found.snippets.is_empty() {
        output.print_stderr(&given.text);
        return Ok(());
    }
    output.print(&framed_text(given, "search results", process))
}

pub(super) fn get(
    access: &MemoryAccess,
    MemoryViewer { snapshot, reader }: MemoryViewer,
    args: &MemoryGetArgs,
    process: &ProcessContext,
    output: &Output,
) -> Result<(), Failure> {
    let lines = Lines { from: args.from.unwrap_or(1), count: args.lines };
    let read = access.wait(access.memory.get(snapshot, reader, &args.path, lines))?;
    let passage = &read.passage;
    if output.wants_json() {
        return output.json(&json!({
            "path": read.path, "from": passage.first, "to": passage.last, "of": passage.of, "text": passage.text,
            "tokens": read.tokens, "next": passage.next, "from_outside": read.from_outside,
        }));
    }
    if read.from_outside {
        output.print(&framed_text(read.answer(), &read.path, process))?;
    } else {
        output.print_exact(&format!("{}\n", passage.text))?;
    }
    let (first, last, of) = (passage.first, passage.last, with_thousands(passage.of));
    let tokens = with_thousands(read.tokens);
    output.print_stderr(&styled(DIM, format!("Lines {first}–{last} of {of}, {tokens} tokens.")));
    if let Some(next) = passage.next {
        output.print_stderr(&styled(DIM, format!("Continue with --from {next}.")));
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
