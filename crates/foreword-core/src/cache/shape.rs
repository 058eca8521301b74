//! A request reduced to hashes of its sections, in the order in which providers cache them. Contains names and sizes,
//! no text.

use std::borrow::Cow;
use std::fmt;

use super::builder::ShapeBuilder;
use super::chain::ChainKey;
use super::chunk_hashes::{ChunkHashes, HashedChunks};
use super::key::{KeyId, ShapeKey, TextHash};
use crate::price::CacheTtl;

/// A request without its text: a keyed hash, the length and chunk hashes of each section.
///
/// ```
/// use foreword_core::cache::{Divergence, RequestShape, ShapeKey, compare};
/// use foreword_core::price::CacheTtl;
///
/// let key = ShapeKey::from_bytes([0; 32]);
/// let shape = |time: &str| {
///     let prompt = format!("You are a helpful agent. It is {time}.");
///     RequestShape::builder(&key, "anthropic/claude-haiku-4-5")
///         .system_block(&*prompt, &[("runtime", 0..prompt.len())], Some(CacheTtl::FiveMinutes))
///         .message("user", "hello", None)
///         .build()
/// };
/// let Divergence::At(difference) = compare(&shape("10:41"), &shape("10:42")) else { panic!() };
/// assert_eq!(difference.layer.as_deref(), Some("runtime"));
/// assert_eq!(difference.bytes, Some(0..37));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestShape {
    pub(super) key_id: KeyId,
    pub(super) model: String,
    pub(super) sections: Vec<Section>,
}

impl RequestShape {
    /// Starts the shape of a request to `model`.
    #[must_use]
    pub fn builder(key: &ShapeKey, model: impl Into<String>) -> ShapeBuilder<'static> {
        Self::begin(&ChainKey::of(key), model, None)
    }

    /// Like [`RequestShape::builder`], with a prepared key. Hashes of sections shared with `previous` are reused; the
    /// resulting shape is the same without it.
    ///
    /// ```
    /// use foreword_core::cache::{ChainKey, RequestShape, ShapeKey};
    /// let key = ShapeKey::from_bytes([0; 32]);
    /// let ready = ChainKey::of(&key);
    /// let first = RequestShape::begin(&ready, "m", None).message("user", "hello", None).build();
    /// let again = RequestShape::begin(&ready, "m", Some(&first)).message("user", "hello", None).build();
    /// assert_eq!(again, RequestShape::builder(&key, "m").message("user", "hello", None).build());
    /// ```
    #[must_use]
    pub fn begin<'p>(
        key: &ChainKey,
        model: impl Into<String>,
        previous: Option<&'p Self>,
    ) -> ShapeBuilder<'p> {
        ShapeBuilder::new(key.hashing(), model.into(), previous)
    }

    /// The requested model.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The sections, in the order in which a provider caches them.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The estimated size, in tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        tokens(&self.sections)
    }

    /// The shape of everything before the messages: tools, settings and the system prompt. Requests of different
    /// conversations may share it.
    #[must_use]
    pub fn before_messages(&self) -> Self {
        let is_message = |section: &&Section| !matches!(section.name, SectionName::Message { .. });
        let sections = self.sections.iter().take_while(is_message).cloned().collect();
        Self { key_id: self.key_id, model: self.model.clone(), sections }
    }

    /// Whether the request has a breakpoint.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.sections.iter().any(|section| section.breakpoint.is_some())
    }

    /// The approximate memory use, in bytes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let spans = self.sections.iter().map(|section| {
            let marks = section.spans.as_slice().iter().map(|span| size_of_val(span.marks.both()));
            marks.sum::<usize>() + (section.spans.as_slice().len() - 1) * size_of::<Span>()
        });
        size_of::<Self>() + self.sections.capacity() * size_of::<Section>() + spans.sum::<usize>()
    }

    /// The number of sections up to the last breakpoint; all sections if there is none.
    pub(super) fn marked_prefix(&self) -> usize {
        self.sections
            .iter()
            .rposition(|section| section.breakpoint.is_some())
            .map_or(self.sections.len(), |at| at + 1)
    }

    /// The breakpoints: the number of sections before each, and its time to live.
    pub(super) fn breakpoints(&self) -> impl DoubleEndedIterator<Item = (usize, CacheTtl)> {
        self.sections.iter().enumerate().filter_map(|(at, section)| Some((at + 1, section.breakpoint?)))
    }
}

pub(super) fn tokens(sections: &[Section]) -> usize {
    sections.iter().map(|section| section.tokens).sum()
}

/// A section of a request, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Identifies the section.
    pub name: SectionName,
    /// The length of its text.
    pub bytes: usize,
    /// Its estimated size in tokens.
    pub tokens: usize,
    /// The cache breakpoint at its end, with its time to live.
    pub breakpoint: Option<CacheTtl>,
    /// The number of content blocks, for the provider's lookback.
    pub(super) blocks: usize,
    pub(super) hash: TextHash,
    pub(super) spans: Spans,
}

/// The spans of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spans {
    /// The whole section, which is the usual case and needs no list.
    Whole(Span),
    /// Its layers and the gaps between them.
    Layers(Vec<Span>),
}

impl Spans {
    pub(super) fn as_slice(&self) -> &[Span] {
        match self {
            Self::Whole(span) => std::slice::from_ref(span),
            Self::Layers(spans) => spans,
        }
    }
}

impl Section {
    /// Whether the provider treats both as equal.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.hash == other.hash && self.name == other.name
    }
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) layer: Option<String>,
    pub(super) bytes: usize,
    pub(super) hash: TextHash,
    pub(super) marks: ChunkHashes,
}

impl Span {
    pub(super) fn marked(&self) -> HashedChunks<'_> {
        HashedChunks { marks: &self.marks, length: self.bytes }
    }
}

/// Identifies a section of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SectionName {
    /// The model, which has its own cache.
    Model,
    /// A tool, by its name.
    Tool(String),
    /// A setting that is part of the cache key.
    Setting {
        /// The name, such as `tool_choice`.
        name: String,
        /// Which sections a change invalidates.
        voids: Invalidates,
    },
    /// A block of the system prompt, from 0.
    System(usize),
    /// A message.
    Message {
        /// The index, from 0.
        index: usize,
        /// The author's role.
        role: Cow<'static, str>,
    },
}

/// What a changed setting invalidates. By Anthropic's published table a setting never invalidates the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invalidates {
    /// The system prompt and the messages: web search, citations, speed.
    System,
    /// Only the messages: tool choice, thinking, images.
    Messages,
}

/// Known roles, which need no allocation.
const ROLES: [&str; 5] = ["user", "assistant", "tool", "system", "developer"];

impl SectionName {
    /// The message with this index, from 0.
    #[must_use]
    pub fn message(index: usize, role: &str) -> Self {
        let known = ROLES.iter().find(|known| **known == role);
        Self::Message {
            index,
            role: known.map_or_else(|| Cow::Owned(role.to_owned()), |known| Cow::Borrowed(*known)),
        }
    }

    /// Its position in the cache order: a changed section invalidates those of higher rank.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Model => 0,
            Self::Tool(_) => 1,
            Self::Setting { voids: Invalidates::System, .. } => 2,
            Self::System(_) => 3,
            Self::Setting { voids: Invalidates::Messages, .. } => 4,
            Self::Message { .. } => 5,
        }
    }

    /// A code for programs: `tool:bash`, `system:0`, `message:14`.
    #[must_use]
    pub fn code(&self) -> String {
        match self {
            Self::Model => "model".to_owned(),
            Self::Tool(name) => format!("tool:{name}"),
            Self::Setting { name, .. } => format!("setting:{name}"),
            Self::System(index) => format!("system:{index}"),
            Self::Message { index, .. } => format!("message:{index}"),
        }
    }
}

impl fmt::Display for SectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model => f.write_str("the model"),
            Self::Tool(name) => write!(f, "tool `{name}`"),
            Self::Setting { name, .. } => write!(f, "setting `{name}`"),
            Self::System(index) => write!(f, "system block {index}"),
            Self::Message { index, role } => write!(f, "message {index} ({role})"),
        }
    }
}
