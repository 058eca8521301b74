//! Makes a shape of borrowed bytes, in one pass and without copying them.

use std::ops::Range;

use super::key::{Hashing, ShapeKey};
use super::marks::Marks;
use super::pieces::Pieces;
use super::shape::{RequestShape, Section, SectionName, Span, Voids};
use crate::price::CacheTtl;

/// About how many bytes make a token, where nobody has counted. What the provider reports corrects it.
const BYTES_PER_TOKEN: usize = 4;

/// Collects the sections of a request. Tools, system blocks and messages each in the order they are sent.
pub struct ShapeBuilder {
    hashing: Hashing,
    shape: RequestShape,
}

impl ShapeBuilder {
    pub(super) fn new(key: &ShapeKey, model: String) -> Self {
        let hashing = Hashing::new(key);
        let shape = RequestShape { key_id: hashing.key_id, model, sections: Vec::new() };
        Self { hashing, shape }
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
        self,
        bytes: impl Into<Pieces<'a>>,
        layers: &[(&str, Range<usize>)],
        breakpoint: Option<CacheTtl>,
    ) -> Self {
        let index = self
            .shape
            .sections
            .iter()
            .filter(|section| matches!(section.name, SectionName::System(_)))
            .count();
        self.section(SectionName::System(index), bytes.into(), layers).breakpoint(breakpoint)
    }

    /// Adds a message, and whether a breakpoint stands at its end.
    #[must_use]
    pub fn message<'a>(self, role: &str, bytes: impl Into<Pieces<'a>>, breakpoint: Option<CacheTtl>) -> Self {
        let sections = &self.shape.sections;
        let index =
            sections.iter().filter(|section| matches!(section.name, SectionName::Message { .. })).count();
        self.section(SectionName::Message { index, role: role.to_owned() }, bytes.into(), &[])
            .breakpoint(breakpoint)
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
        // Stable: within a rank they stay as they are sent.
        self.shape.sections.sort_by_key(|section| section.name.rank());
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
        let whole = layers.is_empty();
        let spans = if whole {
            vec![Span { layer: None, bytes, hash, marks: Marks::of(&self.hashing, text.as_slice()) }]
        } else {
            let parts = with_gaps(layers, bytes);
            parts.into_iter().map(|(layer, range)| self.span(layer, &text.part(&range))).collect()
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
