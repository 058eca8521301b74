//! The peer: SQLite's full-text search over the same chunks, in memory.

use rusqlite::Connection;

use super::corpus::Corpus;

pub(crate) struct Peer(Connection);

impl Peer {
    pub(crate) fn fill(corpus: &Corpus) -> rusqlite::Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(
            "CREATE VIRTUAL TABLE notes USING fts5(path, text, tokenize = 'unicode61 remove_diacritics 2')",
        )?;
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare("INSERT INTO notes (path, text) VALUES (?1, ?2)")?;
            for (path, text) in &corpus.texts {
                insert.execute([path, text])?;
            }
        }
        transaction.commit()?;
        Ok(Self(connection))
    }

    /// The number of results among the best eight.
    pub(crate) fn search(&self, question: &str) -> rusqlite::Result<usize> {
        let words: Vec<String> = question.split_whitespace().map(|word| format!("\"{word}\"")).collect();
        let mut select = self.0.prepare_cached(
            "SELECT path, rank, snippet(notes, 1, '', '', '…', 40) FROM notes WHERE notes MATCH ?1
                ORDER BY rank LIMIT 8",
        )?;
        let rows = select.query_map([words.join(" OR ")], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, f64>(1)?, row.get::<_, String>(2)?))
        })?;
        rows.collect::<Result<Vec<_>, _>>().map(|rows| rows.len())
    }

    pub(crate) fn bytes(&self) -> rusqlite::Result<usize> {
        let number = |name: &str| self.0.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok(usize::try_from(number("page_count")? * number("page_size")?).unwrap_or(0))
    }
}
