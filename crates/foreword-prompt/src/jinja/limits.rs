//! The limits of one template. `meter` enforces them while rendering and `parts` while compiling.

/// The limits of one template. The defaults are far above any prompt and far below what harms a server.
///
/// ```
/// use foreword_prompt::jinja::Limits;
/// let small = Limits { fuel: 1_000, ..Limits::default() };
/// assert!(small.fuel < Limits::default().fuel);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Steps of the engine in one rendering. Default: 1,000,000.
    pub fuel: u64,
    /// Bytes of text a rendering may build in total: its output, and every intermediate string and list. Printing a
    /// text of at most `text_bytes / fuel` bytes counts only as a step, so that a rendering of such texts can reach
    /// this limit once more. Default: 32 MiB.
    pub text_bytes: usize,
    /// Items in one value, counting those of its parts. Default: 250,000.
    pub items: usize,
    /// Work for examining values (comparing, sorting, measuring): one per item, and one per 64 bytes of text. Default:
    /// 8,000,000.
    pub work: usize,
    /// Bytes of one template file. Default: 1 MiB.
    pub source_bytes: usize,
    /// Files one template may be made of, itself included. Default: 64.
    pub parts: usize,
    /// How deep files may include each other. Default: 16.
    pub include_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel: 1_000_000,
            text_bytes: 32 << 20,
            items: 250_000,
            work: 8_000_000,
            source_bytes: 1 << 20,
            parts: 64,
            include_depth: 16,
        }
    }
}
