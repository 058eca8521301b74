//! Builds a [`RequestShape`] from borrowed bytes in one pass, without copying them.

use std::ops::Range;
use std::sync::Arc;

use super::chain::HashedText;
use super::chunk_hashes::ChunkHashes;
use super::key::Hashing;
use super::pieces::Pieces;
use super::shape::{Invalidates, RequestShape, Section, SectionName, Span, Spans};
use crate::price::CacheTtl;

/// Estimated bytes per token, for sections without a token count. The provider's usage corrects the estimate.
const BYTES_PER_TOKEN: usize = 4;

/// How far before and after the expected index a section of the previous request is searched.
const NEAR: usize = 8;

/// Collects the sections of a request. Add tools, system blocks and messages in the order they are sent.
pub struct ShapeBuilder<'p> {
    hashing: Arc<Hashing>,
    shape: RequestShape,
    system_blocks: usize,
    messages: usize,
    /// The sections of the previous request.
    previous: &'p [Section],
    /// The index in `previous` where the next section is expected.
    expected: usize,
}

impl<'p> ShapeBuilder<'p> {
    pub(super) fn new(hashing: Arc<Hashing>, model: String, previous: Option<&'p RequestShape>) -> Self {
        let key_id = hashing.key_id;
        let previous = previous.filter(|previous| previous.key_id == key_id);
        let previous = previous.map(|previous| previous.sections.as_slice()).unwrap_or_default();
        let sections = Vec::with_capacity(previous.len().max(14) + 2);
        let shape = RequestShape { key_id, model, sections };
        Self { hashing, shape, system_blocks: 0, messages: 0, previous, expected: 0 }
    }

    /// Adds a setting that is part of the cache key, such as the tool choice or thinking.
    #[must_use]
    pub fn settings<'a>(self, name: &str, voids: Invalidates, bytes: impl Into<Pieces<'a>>) -> Self {
        let mut this = self.section(SectionName::Setting { name: name.to_owned(), voids }, bytes.into(), &[]);
        // A setting has no tokens of its own.
        this.weigh(0, 0);
        this
    }

    /// Adds a tool as it is sent, without its cache marker.
    #[must_use]
    pub fn tool<'a>(self, name: &str, bytes: impl Into<Pieces<'a>>) -> Self {
        self.section(SectionName::Tool(name.to_owned()), bytes.into(), &[])
    }

    /// Adds a block of the system prompt: its text, the ranges of its layers, and the cache breakpoint at its end.
    /// Layers that overlap or are out of range are ignored.
    #[must_use]
    pub fn system_block<'a>(
        mut self,
        bytes: impl Into<Pieces<'a>>,
        layers: &[(&str, Range<usize>)],
        breakpoint: Option<CacheTtl>,
    ) -> Self {
        self.system_blocks += 1;
        let index = self.system_blocks - 1;
        self.section(SectionName::System(index), bytes.into(), layers).breakpoint(breakpoint)
    }

    /// Adds a message and the cache breakpoint at its end.
    #[must_use]
    pub fn message<'a>(
        mut self,
        role: &str,
        bytes: impl Into<Pieces<'a>>,
        breakpoint: Option<CacheTtl>,
    ) -> Self {
        self.messages += 1;
        let name = SectionName::message(self.messages - 1, role);
        self.section(name, bytes.into(), &[]).breakpoint(breakpoint)
    }

    /// Adds a message whose text was already hashed with the same key.
    #[must_use]
    pub fn hashed_message<'a>(
        mut self,
        role: &str,
        bytes: impl Into<Pieces<'a>>,
        hashed: HashedText,
        breakpoint: Option<CacheTtl>,
    ) -> Self {
        self.messages += 1;
        let name = SectionName::message(self.messages - 1, role);
        let spans = Spans::Whole(self.whole(hashed, &bytes.into()));
        self.add(name, hashed, spans).breakpoint(breakpoint)
    }

    /// Sets the cache breakpoint at the end of the last section; used for tools.
    #[must_use]
    pub fn breakpoint(mut self, breakpoint: Option<CacheTtl>) -> Self {
        if let Some(last) = self.shape.sections.last_mut() {
            last.breakpoint = breakpoint;
        }
        self
    }

    /// Sets the number of content blocks of the last section. Default: 1.
    #[must_use]
    pub fn blocks(mut self, blocks: usize) -> Self {
        if let Some(last) = self.shape.sections.last_mut() {
            last.blocks = blocks;
        }
        self
    }

    /// Sets the token count of the last section.
    #[must_use]
    pub fn tokens(mut self, tokens: usize) -> Self {
        if let Some(last) = self.shape.sections.last_mut() {
            last.tokens = tokens;
        }
        self
    }

    /// Returns the shape.
    #[must_use]
    pub fn build(mut self) -> RequestShape {
        // The sort is stable, so sections of the same rank keep their order. Sections usually arrive sorted.
        if !self.shape.sections.is_sorted_by_key(|section| section.name.rank()) {
            self.shape.sections.sort_by_key(|section| section.name.rank());
        }
        // The shape is kept as long as its conversation.
        self.shape.sections.shrink_to_fit();
        self.shape
    }

    fn weigh(&mut self, tokens: usize, blocks: usize) {
        if let Some(last) = self.shape.sections.last_mut() {
            (last.tokens, last.blocks) = (tokens, blocks);
        }
    }

    fn section(mut self, name: SectionName, text: Pieces<'_>, layers: &[(&str, Range<usize>)]) -> Self {
        let hashed = HashedText { hash: self.hashing.text(text.as_slice()), bytes: text.len() };
        let spans = if layers.is_empty() {
            Spans::Whole(self.whole(hashed, &text))
        } else {
            let parts = with_gaps(layers, hashed.bytes).into_iter();
            Spans::Layers(parts.map(|(layer, range)| self.span(layer, &text.part(&range))).collect())
        };
        self.add(name, hashed, spans)
    }

    fn add(mut self, name: SectionName, HashedText { hash, bytes }: HashedText, spans: Spans) -> Self {
        let tokens = bytes.div_ceil(BYTES_PER_TOKEN);
        self.shape.sections.push(Section { name, bytes, tokens, breakpoint: None, blocks: 1, hash, spans });
        self
    }

    /// The span of a whole section. Reuses the chunk hashes of the same text in the previous request, because computing
    /// them is the most expensive step.
    fn whole(&mut self, HashedText { hash, bytes }: HashedText, text: &Pieces<'_>) -> Span {
        let from = self.expected.saturating_sub(NEAR).min(self.previous.len());
        let to = self.expected.saturating_add(NEAR).min(self.previous.len());
        let is_same = |at: &usize| {
            let before = &self.previous[*at];
            before.hash == hash && before.bytes == bytes
        };
        let found = (self.expected..to).chain(from..self.expected.min(to)).find(is_same);
        self.expected = found.unwrap_or(self.expected) + 1;
        let marks = match found.map(|at| &self.previous[at].spans) {
            Some(Spans::Whole(before)) => before.marks.clone(),
            Some(Spans::Layers(_)) | None => ChunkHashes::of(&self.hashing, text.as_slice()),
        };
        Span { layer: None, bytes, hash, marks }
    }

    fn span(&self, layer: Option<&str>, pieces: &[&[u8]]) -> Span {
        Span {
            layer: layer.map(str::to_owned),
            bytes: pieces.iter().map(|piece| piece.len()).sum(),
            hash: self.hashing.text(pieces),
            marks: ChunkHashes::of(&self.hashing, pieces),
        }
    }
}

/// The layers of a text of `length` bytes and the gaps between them, in order.
fn with_gaps<'a>(layers: &[(&'a str, Range<usize>)], length: usize) -> Vec<(Option<&'a str>, Range<usize>)> {
    let mut parts = Vec::with_capacity(layers.len());
    let mut end = 0;
    for (layer, range) in layers {
        if range.start < end || range.start >= range.end || range.end > length {
            continue;
        }
        if range.start > end {
            parts.push((None, end..range.start));
        }
        parts.push((Some(*layer), range.clone()));
        end = range.end;
    }
    if end < length {
        parts.push((None, end..length));
    }
    parts
}
