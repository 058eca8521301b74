//! A built-in tool, made of its name and an async function.

use std::pin::Pin;

use serde_json::{Map, Value};

use super::arguments::Arguments;
use crate::tool::{Tool, ToolCall, ToolFuture, ToolOutput};

type ResultFuture = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolOutput>> + Send>>;

pub(super) struct BuiltinTool {
    name: &'static str,
    has_side_effects: bool,
    reads_the_log: bool,
    run: Box<dyn Fn(Arguments, ToolCall) -> ResultFuture + Send + Sync>,
}

impl BuiltinTool {
    /// A tool without side effects.
    pub(super) fn new<R>(
        name: &'static str,
        run: impl Fn(Arguments, ToolCall) -> R + Send + Sync + 'static,
    ) -> Self
    where
        R: Future<Output = Result<ToolOutput, ToolOutput>> + Send + 'static,
    {
        let run = Box::new(move |arguments, call| Box::pin(run(arguments, call)) as _);
        Self { name, has_side_effects: false, reads_the_log: false, run }
    }

    pub(super) fn with_side_effects(self) -> Self {
        Self { has_side_effects: true, ..self }
    }

    pub(super) fn that_reads_the_log(self) -> Self {
        Self { reads_the_log: true, ..self }
    }
}

impl Tool for BuiltinTool {
    fn name(&self) -> &'static str {
        self.name
    }

    fn has_side_effects(&self) -> bool {
        self.has_side_effects
    }

    fn reads_the_log(&self) -> bool {
        self.reads_the_log
    }

    fn run(&self, arguments: Map<String, Value>, call: ToolCall) -> ToolFuture {
        let result = (self.run)(Arguments::new(arguments), call);
        Box::pin(async {
            match result.await {
                Ok(output) | Err(output) => output,
            }
        })
    }
}
