//! `memory_search(query)`: the best snippets, with their locations and the cost of reading more.

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::memory::{Memory, MemoryError, Results, search_event};
use crate::tool::{Tool, ToolCall, ToolFuture};

use super::memory_get::{failed, read_in, reader_of, text_of, tool_output, with_call};

/// The tool `memory_search`.
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
                    tool_output(results.answer()).with_event(with_call(event, &call))
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
