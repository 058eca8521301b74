//! Ranked search over chunks (BM25). Only the given indexes are searched and counted, so that documents the reader may
//! not see cannot influence a rank, a score or a total.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use foreword_prompt::tokens::TokenCounter;

use super::index::{Document, Index, Piece};
use super::query::Query;
use super::snippet::snippet;
use super::terms::is_lone_character;

/// BM25 `k1`: term frequency saturation.
const SATURATION: f32 = 1.2;
/// BM25 `b`: length normalisation.
const LENGTH_SHARE: f32 = 0.75;
/// The minimum length of a prefix, in characters.
const MIN_PREFIX_CHARS: usize = 3;
/// The maximum number of terms a prefix expands to.
const MAX_COMPLETIONS: usize = 32;

/// Limits of a search.
#[derive(Clone, Copy)]
pub struct SearchLimits<'a> {
    /// The maximum number of results.
    pub limit: usize,
    /// The maximum number of results per document.
    pub per_document: usize,
    /// The maximum size of a snippet, in tokens.
    pub snippet_tokens: usize,
    /// Counts the tokens.
    pub counter: &'a dyn TokenCounter,
}

/// The results of a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchResults {
    /// The best hits in order; ties by path and line.
    pub hits: Vec<Hit>,
    /// The total number of chunks that contain any of the terms.
    pub matches: usize,
}

/// A matching chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its document.
    pub document: Arc<Document>,
    /// The enclosing headings.
    pub heading: Option<Arc<str>>,
    /// Its first and last line, from 1.
    pub lines: (usize, usize),
    /// The text around the matches, on one line.
    pub snippet: String,
    /// The score, comparable only within the same search.
    pub score: f32,
}

/// Searches `indexes` for `query`.
///
/// ```
/// use foreword_prompt::tokens::Tokenizer;
/// use foreword_workspace::memory_index::{Document, Index, Query, SearchLimits, search};
/// let mut social = Index::default();
/// social.put(Document::new("social/people.md", "who is who", "- Carol — born 3 May, birthday in spring\n- Bob"));
/// let wanted = SearchLimits { limit: 8, per_document: 3, snippet_tokens: 60, counter: Tokenizer::Estimate.get() };
/// let found = search(&[&social], &Query::new("Carol's birthday"), wanted);
/// assert_eq!((&*found.hits[0].document.path, found.hits[0].lines), ("social/people.md", (1, 2)));
/// ```
#[must_use]
pub fn search(indexes: &[&Index], query: &Query, wanted: SearchLimits<'_>) -> SearchResults {
    let words: Vec<Word> = query.terms().iter().filter_map(|term| Word::find(indexes, term)).collect();
    let corpus = Corpus::of(indexes);
    let scored: Vec<(&Index, Vec<f32>)> =
        indexes.iter().map(|index| (*index, scores(index, &words, &corpus))).collect();
    let matches = scored.iter().flat_map(|(_, scores)| scores).filter(|score| **score > 0.0).count();
    let weights: BTreeMap<&str, f32> = words
        .iter()
        .flat_map(|word| word.terms.iter().map(|term| (&**term, corpus.rarity(word.pieces))))
        .collect();
    let hits = best(&scored, matches, wanted)
        .into_iter()
        .map(|Candidate { score, piece }| Hit {
            document: Arc::clone(&piece.document),
            heading: piece.chunk.heading.clone(),
            lines: piece.chunk.lines,
            snippet: snippet(&piece.document.text[piece.chunk.bytes.clone()], &weights, wanted),
            score,
        })
        .collect();
    SearchResults { hits, matches }
}

/// A term of the query, and the indexed terms it matches.
struct Word {
    terms: BTreeSet<Arc<str>>,
    /// The number of chunks that contain one of them.
    pieces: usize,
}

impl Word {
    /// The term itself; if no chunk contains it, the terms with this prefix.
    fn find(indexes: &[&Index], term: &str) -> Option<Self> {
        let pieces = |term: &str| indexes.iter().map(|index| index.postings(term).len()).sum::<usize>();
        let exact = pieces(term);
        let lone = is_lone_character(term);
        let mut terms = BTreeSet::new();
        if exact > 0 {
            terms.insert(term.into());
        }
        if lone || (exact == 0 && term.chars().nth(MIN_PREFIX_CHARS - 1).is_some()) {
            let longer =
                indexes.iter().flat_map(|index| index.terms_from(term).take(MAX_COMPLETIONS).cloned());
            let longer: BTreeSet<Arc<str>> = longer.collect();
            terms.extend(longer.into_iter().take(MAX_COMPLETIONS));
        }
        let pieces = terms.iter().map(|term| pieces(term)).sum();
        (pieces > 0).then_some(Self { terms, pieces })
    }
}

/// Totals over all searched indexes, as integers, so that the order of the indexes does not matter.
struct Corpus {
    pieces: f32,
    mean_length: f32,
}

impl Corpus {
    fn of(indexes: &[&Index]) -> Self {
        let pieces: usize = indexes.iter().map(|index| index.chunks()).sum();
        let words: u64 = indexes.iter().map(|index| index.total_words()).sum();
        Self { pieces: pieces as f32, mean_length: (words as f32 / pieces.max(1) as f32).max(1.0) }
    }

    /// The inverse document frequency of a term that this many chunks contain.
    fn rarity(&self, pieces: usize) -> f32 {
        let pieces = (pieces as f32).min(self.pieces);
        (1.0 + (self.pieces - pieces + 0.5) / (pieces + 0.5)).ln()
    }
}

fn scores(index: &Index, words: &[Word], corpus: &Corpus) -> Vec<f32> {
    let lengths = index.lengths();
    let mut scores = vec![0.0; lengths.len()];
    let share = SATURATION * LENGTH_SHARE / corpus.mean_length;
    for word in words {
        let rarity = corpus.rarity(word.pieces) * (SATURATION + 1.0);
        for posting in word.terms.iter().flat_map(|term| index.postings(term)) {
            let weight = f32::from(posting.weight());
            let length = f32::from(lengths[posting.piece()]);
            scores[posting.piece()] +=
                rarity * weight / (weight + SATURATION * (1.0 - LENGTH_SHARE) + share * length);
        }
    }
    scores
}

struct Candidate<'a> {
    score: f32,
    piece: &'a Piece,
}

impl Candidate<'_> {
    fn position(&self) -> (&str, usize) {
        (&self.piece.document.path, self.piece.chunk.bytes.start)
    }
}

impl Ord for Candidate<'_> {
    /// A higher score is greater; ties by path and line.
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.position().cmp(&self.position()))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate<'_> {}

/// The best candidates in order, limited per document.
fn best<'a>(
    scored: &[(&'a Index, Vec<f32>)],
    matches: usize,
    wanted: SearchLimits<'_>,
) -> Vec<Candidate<'a>> {
    // A small pool is nearly always enough, so the other chunks are skipped.
    let pool = wanted.limit.saturating_mul(wanted.per_document).saturating_mul(2);
    let leading = candidates(scored, nth_best(scored, pool));
    let enough = leading.len() == matches;
    let chosen = choose(leading, wanted);
    if enough || chosen.len() == wanted.limit { chosen } else { choose(candidates(scored, 0.0), wanted) }
}

/// The `n`th best score, or 0 if there are fewer.
fn nth_best(scored: &[(&Index, Vec<f32>)], n: usize) -> f32 {
    let n = n.max(1);
    let mut leading: Vec<f32> = Vec::new();
    let mut least = 0.0;
    for score in scored.iter().flat_map(|(_, scores)| scores).filter(|score| **score > 0.0) {
        if *score < least {
            continue;
        }
        leading.push(*score);
        if leading.len() >= n.saturating_mul(2) {
            leading.select_nth_unstable_by(n - 1, |one, other| other.total_cmp(one));
            leading.truncate(n);
            least = leading.iter().copied().fold(f32::INFINITY, f32::min);
        }
    }
    least
}

/// The chunks with a score of at least `least`.
fn candidates<'a>(scored: &[(&'a Index, Vec<f32>)], least: f32) -> Vec<Candidate<'a>> {
    let mut out = Vec::new();
    for (index, scores) in scored {
        let telling = scores.iter().enumerate().filter(|(_, score)| **score > 0.0 && **score >= least);
        out.extend(
            telling
                .filter_map(|(number, score)| Some(Candidate { score: *score, piece: index.piece(number)? })),
        );
    }
    out
}

/// A heap, because the order of the remaining candidates is irrelevant.
fn choose<'a>(candidates: Vec<Candidate<'a>>, wanted: SearchLimits<'_>) -> Vec<Candidate<'a>> {
    let mut heap = BinaryHeap::from(candidates);
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out = Vec::new();
    while out.len() < wanted.limit {
        let Some(next) = heap.pop() else { break };
        let from_here = taken.entry(&next.piece.document.path).or_default();
        if *from_here < wanted.per_document {
            *from_here += 1;
            out.push(next);
        }
    }
    out
}
