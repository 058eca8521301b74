//! Memory search over 1,000, 10,000 and 100,000 chunks, compared with SQLite's FTS5 on the same chunks, questions,
//! ranking function and snippets. Also the cost of checking the files for changes first.

mod corpus;
mod peer;

use std::error::Error;
use std::time::{Duration, Instant};

use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::trust::Trust;
use foreword_workspace::memory_index::{Document, Index, Query, Reader, SearchLimits, search};
use foreword_workspace::workspace::{Environment, Workspace};

use self::corpus::Corpus;
use self::peer::Peer;
use crate::Outcome;
use crate::storage::spread::Spread;
use crate::table::{Table, readable};
use crate::timing::Comparison;

/// The number of questions.
const QUESTIONS: usize = 400;
/// The maximum 99th percentile over the largest corpus.
const TARGET: Duration = Duration::from_millis(20);
/// The number of chunks per file.
const PER_FILE: usize = 10;

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section("Memory search", "SQLite FTS5 in memory, bm25 and snippet, the words joined by OR");
    for chunks in [1_000, 10_000, 100_000] {
        let corpus = Corpus::new(chunks);
        let started = Instant::now();
        let index = index(&corpus);
        let built = started.elapsed();
        let started = Instant::now();
        let peer = Peer::fill(&corpus)?;
        let peer_built = started.elapsed();
        if index.chunks() != chunks {
            return Err(format!("{} pieces instead of {chunks}", index.chunks()).into());
        }
        table.note(&format!("{chunks} pieces of about 80 words, {} different words", index.terms()));
        table.compare("  built from nothing", &Comparison::of(&[(built, peer_built)]), None);
        questions(table, &corpus, &index, &peer)?;
        table.note(&format!(
            "  bytes a piece: {} and {} of text; peer {} in all",
            index.bytes() / chunks,
            corpus.bytes() / chunks,
            peer.bytes()? / chunks,
        ));
        files(table, &corpus)?;
    }
    Ok(())
}

fn index(corpus: &Corpus) -> Index {
    let documents = corpus.texts.iter().map(|(path, text)| Document::new(path, "", text)).collect();
    let mut index = Index::default();
    index.change(documents, &[]);
    index
}

fn wanted() -> SearchLimits<'static> {
    SearchLimits { limit: 8, per_document: 3, snippet_tokens: 60, counter: Tokenizer::Estimate.get() }
}

fn questions(table: &mut Table, corpus: &Corpus, index: &Index, peer: &Peer) -> Outcome {
    let (mut rounds, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for question in corpus.questions(QUESTIONS) {
        let started = Instant::now();
        let found = search(&[index], &Query::new(&question), wanted());
        let time = started.elapsed();
        let started = Instant::now();
        let known = peer.search(&question)?;
        let peer_time = started.elapsed();
        if found.hits.len() != known {
            return Err(format!("`{question}`: {} results, the peer has {known}", found.hits.len()).into());
        }
        ours.push(time);
        theirs.push(peer_time);
        rounds.push((time, peer_time));
    }
    table.compare("  a search, p50", &Comparison::of(&rounds), None);
    let (ours, theirs) = (Spread::of(ours).permille(990), Spread::of(theirs).permille(990));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    table.compare("  a search, p99", &Comparison { subject: ours, peer: theirs, ratio }, None);
    let verdict = if ours < TARGET { "within" } else { "MORE THAN" };
    table.note(&format!("  p99 is {verdict} the {} aimed for", readable(TARGET)));
    Ok(())
}

/// The same chunks in files: the time of a search that checks all files first.
fn files(table: &mut Table, corpus: &Corpus) -> Outcome {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir_all(folder.path().join("memory/shared"))?;
    let written: Result<Vec<()>, _> = corpus
        .texts
        .chunks(PER_FILE)
        .enumerate()
        .map(|(number, pieces)| {
            let text: String = pieces.iter().map(|(_, text)| format!("{text}\n\n")).collect();
            std::fs::write(folder.path().join(format!("memory/shared/{number}.md")), text)
        })
        .collect();
    let count = written?.len();
    let workspace = Workspace::open(folder.path(), Environment::default())?;
    let (snapshot, reader) = (workspace.snapshot(), Reader::of(Trust::Inner));
    let look = || -> Outcome {
        let shelves = snapshot.memory_indexes(&reader);
        if shelves.is_empty() { Err("there is nothing to search".into()) } else { Ok(()) }
    };
    let started = Instant::now();
    look()?;
    let first = started.elapsed();
    // An edit of a younger file might not change its timestamp.
    std::thread::sleep(Duration::from_millis(2_100));
    look()?;
    let again = median_time(9, look)?;
    let edited = median_time(5, || {
        std::fs::write(folder.path().join("memory/shared/0.md"), format!("edited {:?}", Instant::now()))?;
        look()
    })?;
    table.note(&format!(
        "  in {count} files: first read and indexed in {}, looked over again in {}, after an edit in {}",
        readable(first),
        readable(again),
        readable(edited),
    ));
    Ok(())
}

fn median_time(times: usize, mut work: impl FnMut() -> Outcome) -> Result<Duration, Box<dyn Error>> {
    let mut all = Vec::new();
    for _ in 0..times {
        let started = Instant::now();
        work()?;
        all.push(started.elapsed());
    }
    Ok(Spread::of(all).median())
}
