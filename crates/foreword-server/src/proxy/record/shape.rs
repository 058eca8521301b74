//! The shape of a proxied request, computed from its bytes, and access to these bytes for a diagnosis.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use foreword_core::cache::{ChainKey, DivergencePoint, HashedText, Invalidates, RequestShape, SectionName};
use foreword_core::price::CacheTtl;
use foreword_core::provider::WireDialect;

use super::slices::{self, Part};
use crate::proxy::body::RequestBody;
use crate::proxy::scan;

/// The start of Claude Code's billing block. The rest changes with each request and is not part of the provider's cache
/// key.
const BILLING: &[u8] = b"x-anthropic-billing-header";

/// A request, split as a provider caches it.
pub(super) struct ParsedRequest<'a> {
    dialect: WireDialect,
    body: RequestBody<'a>,
    /// The number of leading messages that form the system prompt.
    leading: usize,
    /// Computed on first use, for the conversation and for the shape.
    hashed_messages: OnceLock<HashedMessages<'a>>,
}

/// The messages of the conversation with their hashes.
struct HashedMessages<'a> {
    messages: Vec<Message<'a>>,
    pieces: Vec<&'a [u8]>,
}

struct Message<'a> {
    part: Part<'a>,
    hashed: HashedText,
    /// Its range in `HashedMessages::pieces`.
    pieces: Range<usize>,
}

impl<'a> ParsedRequest<'a> {
    /// Parses a request; `None` if it is not one.
    pub(super) fn read(dialect: WireDialect, bytes: &'a [u8]) -> Option<Self> {
        Some(Self::of(dialect, RequestBody::read(bytes).ok()?))
    }

    pub(super) fn of(dialect: WireDialect, body: RequestBody<'a>) -> Self {
        let mut pieces = Vec::new();
        let is_system = |at: &&Range<usize>| {
            let role = slices::message(body.at(at), &mut pieces).role;
            matches!(&*role, "system" | "developer")
        };
        // Anthropic's system prompt is a separate field.
        let leading = match dialect {
            WireDialect::Anthropic => 0,
            WireDialect::OpenAi => body.messages().iter().take_while(is_system).count(),
        };
        Self { dialect, body, leading, hashed_messages: OnceLock::new() }
    }

    pub(super) fn model(&self) -> Option<Cow<'a, str>> {
        self.body.model()
    }

    /// The role and hash of the messages without the system prompt; of all messages, if there are no others.
    pub(super) fn messages(&self, key: &ChainKey) -> impl ExactSizeIterator<Item = (&str, HashedText)> {
        let hashed = self.hash_messages(key);
        hashed.messages.iter().map(|message| (&*message.part.role, message.hashed))
    }

    /// All requests use the same key, so the hashes are computed once.
    fn hash_messages(&self, key: &ChainKey) -> &HashedMessages<'a> {
        self.hashed_messages.get_or_init(|| {
            let all = self.body.messages();
            let from = if self.leading < all.len() { self.leading } else { 0 };
            let mut all_hashed =
                HashedMessages { messages: Vec::with_capacity(all.len() - from), pieces: Vec::new() };
            let mut pieces = Vec::new();
            for at in &all[from..] {
                let part = slices::message(self.body.at(at), &mut pieces);
                let hashed = key.hash(&pieces[..]);
                let start = all_hashed.pieces.len();
                all_hashed.pieces.extend_from_slice(&pieces);
                all_hashed.messages.push(Message { part, hashed, pieces: start..all_hashed.pieces.len() });
            }
            all_hashed
        })
    }

    /// The shape. Reuses hashes of `previous` for the common prefix.
    pub(super) fn shape(&self, key: &ChainKey, model: &str, previous: Option<&RequestShape>) -> RequestShape {
        let mut builder = RequestShape::begin(key, model, previous);
        let mut pieces = Vec::new();
        for tool in self.tools() {
            pieces.clear();
            let mark = slices::strip_markers(tool, &mut pieces);
            builder = builder.tool(&self.tool_name(tool), &pieces[..]).breakpoint(mark);
        }
        for &(name, voids) in self.settings() {
            if let Some(value) = self.body.setting(name) {
                builder = builder.settings(name, voids, value);
            }
        }
        for system in self.system() {
            let part = system.pieces(&mut pieces);
            builder = builder.system_block(&pieces[..], &[], part.mark);
        }
        let messages = self.body.messages().get(self.leading..).unwrap_or_default();
        let hashed = self.hash_messages(key);
        for (index, (at, message)) in messages.iter().zip(&hashed.messages).enumerate() {
            let part = &message.part;
            // A top-level `cache_control` sets a breakpoint after the last message.
            let mark = part.mark.or_else(|| self.mark_of_all().filter(|_| index + 1 == messages.len()));
            let blocks = if part.is_text { 1 } else { blocks(part, self.body.at(at)) };
            let pieces = &hashed.pieces[message.pieces.clone()];
            builder = builder.hashed_message(&part.role, pieces, message.hashed, mark).blocks(blocks);
        }
        builder.build()
    }

    /// Bytes of a section, as hashed by [`Self::shape`].
    pub(super) fn peek(&self, section: &SectionName, range: Range<usize>) -> Option<Vec<u8>> {
        let whole = self.section(section)?.0;
        whole.get(range.start..range.end.min(whole.len())).map(<[u8]>::to_vec)
    }

    /// The position in the unescaped text rather than in the JSON.
    pub(super) fn in_unescaped_text(&self, place: DivergencePoint) -> DivergencePoint {
        let Some((whole, true)) = self.section(&place.section) else { return place };
        let bytes = place
            .bytes
            .map(|(start, end)| (slices::unescaped(&whole, start), slices::unescaped(&whole, end)));
        DivergencePoint { bytes, ..place }
    }

    /// The bytes of a section, and whether they are a single string.
    fn section(&self, section: &SectionName) -> Option<(Vec<u8>, bool)> {
        let mut pieces = Vec::new();
        let is_text = match section {
            SectionName::Model => return None,
            SectionName::Setting { name, .. } => {
                pieces.push(self.body.setting(name)?);
                false
            }
            SectionName::Tool(name) => {
                slices::strip_markers(self.tools().find(|tool| self.tool_name(tool) == *name)?, &mut pieces);
                false
            }
            SectionName::System(index) => self.system().nth(*index)?.pieces(&mut pieces).is_text,
            SectionName::Message { index, .. } => {
                let at = self.body.messages().get(self.leading + index)?;
                slices::message(self.body.at(at), &mut pieces).is_text
            }
        };
        Some((pieces.concat(), is_text))
    }

    fn tools(&self) -> impl Iterator<Item = &'a [u8]> {
        let (bytes, list) = (self.body.bytes(), self.body.tools());
        let items = list.map(|list| scan::items(bytes, &list).map_while(Result::ok));
        items.into_iter().flatten().map(move |at| bytes.get(at).unwrap_or_default())
    }

    fn tool_name(&self, tool: &'a [u8]) -> Cow<'a, str> {
        let named = match self.dialect {
            WireDialect::Anthropic => Some(tool),
            WireDialect::OpenAi => member(tool, "function"),
        };
        let name = named.and_then(|tool| member(tool, "name")).and_then(scan::text);
        name.or_else(|| scan::text(member(tool, "type")?)).unwrap_or_default()
    }

    fn settings(&self) -> &'static [(&'static str, Invalidates)] {
        match self.dialect {
            WireDialect::Anthropic => {
                &[("tool_choice", Invalidates::Messages), ("thinking", Invalidates::Messages)]
            }
            WireDialect::OpenAi => &[("response_format", Invalidates::System)],
        }
    }

    fn system(&self) -> impl Iterator<Item = System<'a>> {
        let bytes = self.body.bytes();
        let beside = self.body.system().map(|at| self.body.at(&at)).unwrap_or_default();
        let alone = slices::string_content(beside).map(System::Alone);
        let list = 0..beside.len();
        let blocks = scan::items(beside, &list).map_while(Result::ok);
        let blocks = blocks.map(|at| System::Block(beside.get(at).unwrap_or_default()));
        let leading = self.body.messages()[..self.leading].iter().cloned();
        let leading = leading.map(move |at| System::Message(bytes.get(at).unwrap_or_default()));
        alone.into_iter().chain(blocks).chain(leading)
    }

    fn mark_of_all(&self) -> Option<CacheTtl> {
        slices::marker_ttl(self.body.setting("cache_control")?)
    }
}

/// A part of the system prompt in either dialect.
enum System<'a> {
    Alone(&'a [u8]),
    Block(&'a [u8]),
    Message(&'a [u8]),
}

impl<'a> System<'a> {
    fn pieces(&self, pieces: &mut Vec<&'a [u8]>) -> Part<'a> {
        match *self {
            Self::Alone(text) => {
                pieces.clear();
                pieces.push(text);
                Part { role: Cow::Borrowed(""), mark: None, is_text: true, content: None }
            }
            Self::Block(bytes) => {
                let part = slices::block(bytes, pieces);
                if pieces.first().is_some_and(|text| text.starts_with(BILLING)) {
                    *pieces = vec![BILLING];
                }
                part
            }
            Self::Message(bytes) => slices::message(bytes, pieces),
        }
    }
}

fn member<'a>(bytes: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let all = 0..bytes.len();
    let mut members = scan::members(bytes, &all).map_while(Result::ok);
    bytes.get(members.find(|member| member.key == name)?.value)
}

/// The number of content blocks of a message.
fn blocks(part: &Part<'_>, message: &[u8]) -> usize {
    let Some(content) = part.content.or_else(|| member(message, "content")) else { return 1 };
    let list = 0..content.len();
    scan::items(content, &list).map_while(Result::ok).count().max(1)
}
