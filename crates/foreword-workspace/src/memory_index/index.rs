//! An in-memory inverted index: which terms occur in which chunk of which document, and how often. Documents are added
//! and removed as a whole; removal also updates all counts. Does no file access, trust checks or ranking; see `search`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foreword_prompt::text::ContentHash;

use super::chunk::{Chunk, chunks};
use super::terms::{Side, each_term};

/// The weight of a term in a heading.
const HEADING_WEIGHT: u32 = 2;
/// The weight of a term in the path or description, for the first chunk; 1 for the others.
const TITLE_WEIGHT: u32 = 3;
/// The maximum number of chunks in an index.
const MAX_CHUNKS: usize = 1 << 24;

/// A document to index.
///
/// ```
/// use foreword_workspace::memory_index::{Document, Index};
/// let mut index = Index::default();
/// index.put(Document::new("social/people.md", "who is who", "Carol was born on 3 May."));
/// assert_eq!((index.documents(), index.chunks()), (1, 1));
/// index.remove("social/people.md");
/// assert_eq!((index.documents(), index.chunks(), index.terms()), (0, 0, 0));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its path, unique in the index.
    pub path: Arc<str>,
    /// Its one-line description.
    pub description: Arc<str>,
    /// The whole text.
    pub text: Arc<str>,
    /// The byte offset of its body. Text before it is not searched.
    pub body: usize,
    /// The hash of its text, to detect changes.
    pub hash: ContentHash,
    /// Whether it may contain text from outside.
    pub from_outside: bool,
}

impl Document {
    /// A trusted document without front matter.
    #[must_use]
    pub fn new(path: &str, description: &str, text: &str) -> Self {
        let hash = ContentHash::of(text);
        let (path, description, text) = (path.into(), description.into(), text.into());
        Self { path, description, text, body: 0, hash, from_outside: false }
    }
}

/// An inverted index over documents.
#[derive(Debug, Default)]
pub struct Index {
    terms: HashMap<Arc<str>, u32>,
    /// The same terms in order, for prefix search.
    in_order: BTreeMap<Arc<str>, u32>,
    postings: Vec<Vec<Posting>>,
    free_terms: Vec<u32>,
    pieces: Vec<Option<Piece>>,
    /// The length of each chunk in words; separate from the chunks, because ranking reads only the lengths.
    lengths: Vec<u16>,
    free_pieces: Vec<u32>,
    documents: BTreeMap<Arc<str>, Entry>,
    words: u64,
    chunks: usize,
}

#[derive(Debug)]
struct Entry {
    document: Arc<Document>,
    pieces: Vec<u32>,
}

/// An indexed chunk.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) document: Arc<Document>,
    pub(super) chunk: Chunk,
}

/// A chunk that contains a term (24 bits), and the term's weight in it (8 bits).
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting(u32);

impl Posting {
    fn new(piece: u32, weight: u32) -> Self {
        Self((piece << 8) | weight.min(255))
    }

    pub(super) fn piece(self) -> usize {
        (self.0 >> 8) as usize
    }

    pub(super) fn weight(self) -> u8 {
        self.0.to_le_bytes()[0]
    }
}

impl Index {
    /// Adds a document, replacing the one with the same path.
    pub fn put(&mut self, document: Document) {
        self.change(vec![document], &[]);
    }

    /// Removes the document at `path`.
    pub fn remove(&mut self, path: &str) {
        self.change(Vec::new(), &[path.into()]);
    }

    /// Removes the documents at `removed`, then adds `put`, in one batch, so that each posting list is scanned only
    /// once.
    pub fn change(&mut self, put: Vec<Document>, removed: &[Arc<str>]) {
        let replaced = put.iter().map(|document| &document.path);
        let gone: Vec<Entry> =
            removed.iter().chain(replaced).filter_map(|path| self.documents.remove(path)).collect();
        self.forget(&gone);
        for document in put {
            self.add(Arc::new(document));
        }
    }

    /// The hash of the document at `path`.
    #[must_use]
    pub fn hash_of(&self, path: &str) -> Option<ContentHash> {
        self.documents.get(path).map(|entry| entry.document.hash)
    }

    /// The paths in byte order.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<str>> {
        self.documents.keys()
    }

    /// The number of documents.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.documents.len()
    }

    /// The number of chunks.
    #[must_use]
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// The number of distinct terms.
    #[must_use]
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// The approximate memory size in bytes, without the texts themselves.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let postings: usize = self.postings.iter().map(|list| list.capacity() * size_of::<Posting>()).sum();
        let headers = self.postings.capacity() * size_of::<Vec<Posting>>();
        // Text and reference counts of an `Arc<str>`, and its entries in both maps.
        let terms: usize = self.terms.keys().map(|term| term.len() + 16 + 2 * 32).sum();
        let pieces = self.pieces.capacity() * (size_of::<Option<Piece>>() + size_of::<u16>());
        let documents = self.documents.len() * (size_of::<Entry>() + size_of::<Document>() + 64);
        postings + headers + terms + pieces + documents
    }

    /// The total number of words in all chunks.
    pub(super) fn total_words(&self) -> u64 {
        self.words
    }

    pub(super) fn lengths(&self) -> &[u16] {
        &self.lengths
    }

    pub(super) fn piece(&self, number: usize) -> Option<&Piece> {
        self.pieces.get(number)?.as_ref()
    }

    /// The chunks that contain `term`.
    pub(super) fn postings(&self, term: &str) -> &[Posting] {
        let list = self.terms.get(term).and_then(|number| self.postings.get(*number as usize));
        list.map_or(&[], Vec::as_slice)
    }

    /// The terms that begin with `start`, in byte order.
    pub(super) fn terms_from<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        let from = (std::ops::Bound::Included(start), std::ops::Bound::Unbounded);
        self.in_order
            .range::<str, _>(from)
            .map(|(term, _)| term)
            .take_while(move |term| term.starts_with(start))
    }

    fn add(&mut self, document: Arc<Document>) {
        let mut numbers = Vec::new();
        for (position, chunk) in cut(&document).into_iter().enumerate() {
            if self.chunks >= MAX_CHUNKS {
                break;
            }
            let mut counts: Vec<(u32, u32)> = Vec::new();
            let words = for_each_term(&document, &chunk, position, |term, weight| {
                counts.push((self.term(term), weight))
            });
            let number = self.insert_piece(Piece { document: Arc::clone(&document), chunk }, words);
            counts.sort_unstable();
            for same in counts.chunk_by(|one, other| one.0 == other.0) {
                let weight = same.iter().map(|(_, weight)| weight).sum();
                self.postings[same[0].0 as usize].push(Posting::new(number, weight));
            }
            numbers.push(number);
        }
        self.documents.insert(Arc::clone(&document.path), Entry { document, pieces: numbers });
    }

    fn insert_piece(&mut self, piece: Piece, words: u16) -> u32 {
        self.words += u64::from(words);
        self.chunks += 1;
        if let Some(free) = self.free_pieces.pop() {
            self.pieces[free as usize] = Some(piece);
            self.lengths[free as usize] = words;
            return free;
        }
        self.pieces.push(Some(piece));
        self.lengths.push(words);
        // `add` keeps the number within 24 bits.
        u32::try_from(self.pieces.len() - 1).unwrap_or(u32::MAX)
    }

    /// The number of a term, assigned if it is new.
    fn term(&mut self, term: &str) -> u32 {
        if let Some(known) = self.terms.get(term) {
            return *known;
        }
        let number = self.free_terms.pop().unwrap_or_else(|| {
            self.postings.push(Vec::new());
            u32::try_from(self.postings.len() - 1).unwrap_or(u32::MAX)
        });
        let text: Arc<str> = term.into();
        self.terms.insert(Arc::clone(&text), number);
        self.in_order.insert(text, number);
        number
    }

    fn forget(&mut self, gone: &[Entry]) {
        let mut touched = BTreeMap::new();
        for entry in gone {
            for (position, number) in entry.pieces.iter().enumerate() {
                // The terms are extracted again instead of stored, which would double the size of the index.
                let Some(piece) = self.pieces[*number as usize].take() else { continue };
                for_each_term(&piece.document, &piece.chunk, position, |term, _| {
                    if let Some((text, number)) = self.terms.get_key_value(term) {
                        touched.entry(*number).or_insert_with(|| Arc::clone(text));
                    }
                });
                self.words -= u64::from(std::mem::take(&mut self.lengths[*number as usize]));
                self.chunks -= 1;
                self.free_pieces.push(*number);
            }
        }
        for (number, text) in touched {
            let list = &mut self.postings[number as usize];
            list.retain(|posting| self.pieces[posting.piece()].is_some());
            if list.is_empty() {
                *list = Vec::new();
                self.terms.remove(&text);
                self.in_order.remove(&text);
                self.free_terms.push(number);
            }
        }
    }
}

/// The chunks of a document. A document without a body is indexed by its path and description alone.
fn cut(document: &Document) -> Vec<Chunk> {
    let found = chunks(&document.text, document.body);
    if found.is_empty() { vec![Chunk { bytes: 0..0, lines: (1, 1), heading: None }] } else { found }
}

/// Calls `count` for each term of a chunk with its weight; returns the number of words in the chunk.
fn for_each_term(
    document: &Document,
    chunk: &Chunk,
    position: usize,
    mut count: impl FnMut(&str, u32),
) -> u16 {
    let mut words: u16 = 0;
    let body = &document.text[chunk.bytes.clone()];
    for line in body.split_inclusive('\n') {
        let weight = if line.starts_with('#') { HEADING_WEIGHT } else { 1 };
        each_term(line, Side::Stored, |_, term| {
            words = words.saturating_add(1);
            count(term, weight);
        });
    }
    for above in chunk.heading.iter().filter(|_| !body.starts_with('#')) {
        each_term(above, Side::Stored, |_, term| count(term, 1));
    }
    let title = if position == 0 { TITLE_WEIGHT } else { 1 };
    for text in [&document.path, &document.description] {
        each_term(text, Side::Stored, |_, term| count(term, title));
    }
    words
}
