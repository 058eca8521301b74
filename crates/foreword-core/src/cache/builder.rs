//! Makes a shape of borrowed bytes, in one pass and without copying them.

use std::ops::Range;

use super::key::{Hashing, ShapeKey};
use super::marks::Marks;
use super::pieces::Pieces;
use super::shape::{RequestShape, Section, SectionName, Span, Spans, Voids};
use crate::price::CacheTtl;

/// About how many bytes make a token, where nobody has counted. What the provider reports corrects it.
const BYTES_PER_TOKEN: usize = 4;

/// Collects the sections of a request. Tools, system blocks and messages each in the order they are sent.
pub struct ShapeBuilder {
    // In a box, since a builder goes from hand to hand with every section.
    hashing: Box<Hashing>,
    shape: RequestShape,
    system_blocks: usize,
    messages: usize,
}

impl ShapeBuilder {
    pub(super) fn new(key: &ShapeKey, model: String) -> Self {
        let hashing = Box::new(Hashing::new(key));
        let shape = RequestShape { key_id: hashing.key_id, model, sections: Vec::with_capacity(64) };
        Self { hashing, shape, system_blocks: 0, messages: 0 }
    }

    /// Adds a setting that is part of what is cached: the choice of tools, thinking and the like.
    #[must_use]
    pub fn settings<'a>(self, name: &str, voids: Voids, bytes: impl Into<Pieces<'a>>) -> Self {
        let mut this = self.section(SectionName::Setting { name: name.to_owned(), voids }, bytes.into(), &[]);
        // A switch beside the text, not a part of it.
        this.weigh(0, 0);
        this
    }

    /// Adds a tool as it is sent, without a marker for the cache.
    #[must_use]
    pub fn tool<'a>(self, name: &str, bytes: impl Into<Pieces<'a>>) -> Self {
        self.section(SectionName::Tool(name.to_owned()), bytes.into(), &[])
    }

    /// Adds a block of the system prompt: its text, where its layers are in it, and whether a breakpoint stands at its
    /// end. Layers that overlap or lie outside are left out.
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

    /// Adds a message, and whether a breakpoint stands at its end.
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

    /// Puts a breakpoint behind the section that was added last, for a tool; or none.
    #[must_use]
    pub fn breakpoint(mut self, breakpoint: Option<CacheTtl>) -> Self {
        if let Some(last) = self.shape.sections.last_mut() {
            last.breakpoint = breakpoint;
        }
        self
    }

    /// Says how many blocks of content the last section has, if it is not one.
    #[must_use]
    pub fn blocks(mut self, blocks: usize) -> Self {
        if let Some(last) = self.shape.sections.last_mut() {
            last.blocks = blocks;
        }
        self
    }

    /// Says what the last section weighs, if somebody has counted.
    #[must_use]
    pub fn tokens(mut self, tokens: usize) -> Self {
        if let Some(last) = self.shape.sections.last_mut() {
            last.tokens = tokens;
        }
        self
    }

    /// The shape.
    #[must_use]
    pub fn build(mut self) -> RequestShape {
        // Stable: within a rank they stay as they are sent. Mostly they come in order, and are not moved.
        if !self.shape.sections.is_sorted_by_key(|section| section.name.rank()) {
            self.shape.sections.sort_by_key(|section| section.name.rank());
        }
        self.shape
    }

    fn weigh(&mut self, tokens: usize, blocks: usize) {
        if let Some(last) = self.shape.sections.last_mut() {
            (last.tokens, last.blocks) = (tokens, blocks);
        }
    }

    fn section(mut self, name: SectionName, text: Pieces<'_>, layers: &[(&str, Range<usize>)]) -> Self {
        let bytes = text.len();
        let hash = self.hashing.text(text.as_slice());
        let spans = if layers.is_empty() {
            let marks = Marks::of(&self.hashing, text.as_slice());
            Spans::Whole(Span { layer: None, bytes, hash, marks })
        } else {
            let parts = with_gaps(layers, bytes).into_iter();
            Spans::Layers(parts.map(|(layer, range)| self.span(layer, &text.part(&range))).collect())
        };
        let tokens = bytes.div_ceil(BYTES_PER_TOKEN);
        self.shape.sections.push(Section { name, bytes, tokens, breakpoint: None, blocks: 1, hash, spans });
        self
    }

    fn span(&self, layer: Option<&str>, pieces: &[&[u8]]) -> Span {
        Span {
            layer: layer.map(str::to_owned),
            bytes: pieces.iter().map(|piece| piece.len()).sum(),
            hash: self.hashing.text(pieces),
            marks: Marks::of(&self.hashing, pieces),
        }
    }
}

/// The layers of a text of `length` bytes with whatever is between them, from its start to its end.
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
