//! The stored form of shapes: short keys, base64 hashes and a version. Shapes of another version are ignored, since
//! they cannot be compared.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD as BASE64, Engine as _};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

use super::chunk_hashes::{CHUNK, ChunkHashes};
use super::key::TextHash;
use super::shape::{Invalidates, RequestShape, Section, SectionName, Span, Spans};
use crate::price::CacheTtl;

/// Increment this when the meaning of hashes or the order of sections changes.
const VERSION: u32 = 1;

#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    v: u32,
    /// The key id.
    k: String,
    /// The model.
    m: String,
    /// The sections.
    s: Vec<StoredSection>,
}

#[derive(Serialize, Deserialize)]
struct StoredSection {
    /// The kind: `t`, `s`, `m`, or `a` and `b` for settings that invalidate the system prompt or the messages.
    w: char,
    /// The name or role.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    n: String,
    /// Tokens and blocks.
    t: (usize, usize),
    /// The breakpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    c: Option<CacheTtl>,
    /// The hash, if the section has several spans.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    h: String,
    /// The spans.
    p: Vec<StoredSpan>,
}

/// Layer, bytes, hash, and the chunk hashes in both directions.
#[derive(Serialize, Deserialize)]
struct StoredSpan(Option<String>, usize, String, String);

impl RequestShape {
    /// Decodes a stored shape; `None` if it has another version or is damaged.
    ///
    /// ```
    /// use foreword_core::cache::{RequestShape, ShapeKey};
    /// let key = ShapeKey::from_bytes([0; 32]);
    /// let shape = RequestShape::builder(&key, "m").message("user", "hello", None).build();
    /// let stored = serde_json::to_string(&shape).unwrap();
    /// assert_eq!(RequestShape::from_stored(&stored), Some(shape));
    /// assert_eq!(RequestShape::from_stored(&stored.replace(r#""v":1"#, r#""v":2"#)), None);
    /// ```
    #[must_use]
    pub fn from_stored(json: &str) -> Option<Self> {
        let version: Versioned = serde_json::from_str(json).ok()?;
        let stored: Stored = (version.v == VERSION).then(|| serde_json::from_str(json).ok())??;
        let key_id = BASE64.decode(stored.k).ok()?.try_into().ok()?;
        let mut sections = Vec::with_capacity(stored.s.len());
        let mut counts = [0, 0];
        for section in stored.s {
            sections.push(section.read(&mut counts)?);
        }
        Some(Self { key_id, model: stored.m, sections })
    }
}

impl Serialize for RequestShape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sections: Option<Vec<_>> = self.sections.iter().map(StoredSection::of).collect();
        let sections = sections.ok_or_else(|| S::Error::custom("the model is not a section"))?;
        Stored { v: VERSION, k: BASE64.encode(self.key_id), m: self.model.clone(), s: sections }
            .serialize(serializer)
    }
}

impl StoredSection {
    fn of(section: &Section) -> Option<Self> {
        let (what, name) = match &section.name {
            SectionName::Model => return None,
            SectionName::Tool(name) => ('t', name.as_str()),
            SectionName::Setting { name, voids: Invalidates::System } => ('a', name.as_str()),
            SectionName::Setting { name, voids: Invalidates::Messages } => ('b', name.as_str()),
            SectionName::System(_) => ('s', ""),
            SectionName::Message { role, .. } => ('m', &**role),
        };
        let whole = matches!(section.spans, Spans::Whole(_));
        Some(Self {
            w: what,
            n: name.to_owned(),
            t: (section.tokens, section.blocks),
            c: section.breakpoint,
            h: if whole { String::new() } else { BASE64.encode(section.hash) },
            p: section.spans.as_slice().iter().map(StoredSpan::of).collect(),
        })
    }

    /// `counts` is the number of system blocks and messages before this section.
    fn read(self, counts: &mut [usize; 2]) -> Option<Section> {
        let mut spans: Vec<Span> = self.p.into_iter().map(StoredSpan::read).collect::<Option<_>>()?;
        let bytes = spans.iter().map(|span| span.bytes).sum();
        let (hash, spans) = if self.h.is_empty() {
            let whole = spans.pop().filter(|_| spans.is_empty())?;
            (whole.hash, Spans::Whole(whole))
        } else {
            (text_hash(&self.h)?, Spans::Layers(spans))
        };
        let name = match self.w {
            't' => SectionName::Tool(self.n),
            'a' => SectionName::Setting { name: self.n, voids: Invalidates::System },
            'b' => SectionName::Setting { name: self.n, voids: Invalidates::Messages },
            's' => SectionName::System(next(&mut counts[0])),
            'm' => SectionName::message(next(&mut counts[1]), &self.n),
            _ => return None,
        };
        let (tokens, blocks) = self.t;
        Some(Section { name, bytes, tokens, breakpoint: self.c, blocks, hash, spans })
    }
}

impl StoredSpan {
    fn of(span: &Span) -> Self {
        let marks: Vec<u8> = span.marks.both().iter().flat_map(|mark| mark.to_le_bytes()).collect();
        Self(span.layer.clone(), span.bytes, BASE64.encode(span.hash), BASE64.encode(marks))
    }

    fn read(self) -> Option<Span> {
        let Self(layer, bytes, hash, marks) = self;
        let marks = BASE64.decode(marks).ok()?;
        if marks.len() != 4 * bytes.div_ceil(CHUNK) {
            return None;
        }
        let marks = marks.chunks_exact(2).map(|mark| u16::from_le_bytes([mark[0], mark[1]])).collect();
        Some(Span { layer, bytes, hash: text_hash(&hash)?, marks: ChunkHashes::from_both(marks) })
    }
}

fn text_hash(text: &str) -> Option<TextHash> {
    BASE64.decode(text).ok()?.try_into().ok()
}

fn next(count: &mut usize) -> usize {
    *count += 1;
    *count - 1
}
