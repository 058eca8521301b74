//! The built-in tools, one file each.

pub mod memory_get;
pub mod memory_search;
pub mod memory_write;

use std::sync::Arc;

use crate::memory::Memory;
use crate::tool::Tool;

/// The tools of a memory.
#[must_use]
pub fn memory(memory: Memory) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(memory_get::MemoryGet(memory.clone())),
        Arc::new(memory_search::MemorySearch(memory.clone())),
        Arc::new(memory_write::MemoryWrite(memory)),
    ]
}
