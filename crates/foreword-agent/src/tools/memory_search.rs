//! `memory_search(query)`: the best snippets, with where they stand and what more would cost.

use std::time::Instant;

use serde_json::{Map, Value};

use crate::memory::{Memory, MemoryError, Results, search_event};
use crate::tool::{Tool, ToolCall, ToolFuture};

use super::memory_get::{about, failed, given, read_in, reader_of, text_of};

/// Searches memory at the turn's trust.
#[derive(Debug, Clone)]
pub struct MemorySearch(pub Memory);

impl Tool for MemorySearch {
    fn name(&self) -> &'static str {
        "memory_search"
    }

    fn has_side_effects(&self) -> bool {
        false
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        let memory = self.0.clone();
        Box::pin(async move {
            let started = Instant::now();
            match search(&memory, &arguments, &call).await {
                Ok(results) => {
                    let event = search_event(&results, started.elapsed(), call.now);
                    given(results.given()).with_event(about(event, &call))
                }
                Err(error) => failed(&error),
            }
        })
    }
}

async fn search(
    memory: &Memory,
    arguments: &Map<String, Value>,
    call: &ToolCall,
) -> Result<Results, MemoryError> {
    let reader = reader_of(call).await?;
    read_in(memory, call).search(call.snapshot.clone(), reader, text_of(arguments, "query")).await
}
