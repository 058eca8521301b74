//! Rewrites the common placeholders `?1` to Postgres's `$1`.

/// The statement with Postgres placeholders. Question marks in quotes stay unchanged.
pub(super) fn numbered(sql: &str) -> String {
    let mut quoted = false;
    let mut characters = sql.chars().peekable();
    let mut out = String::with_capacity(sql.len());
    while let Some(character) = characters.next() {
        quoted ^= character == '\'';
        let placeholder = !quoted && character == '?' && characters.peek().is_some_and(char::is_ascii_digit);
        out.push(if placeholder { '$' } else { character });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_in_quotes_are_unchanged() {
        let cases = [
            ("SELECT 1", "SELECT 1"),
            ("WHERE a = ?1 AND b = ?12", "WHERE a = $1 AND b = $12"),
            ("VALUES ('what?1', ?2)", "VALUES ('what?1', $2)"),
            ("VALUES ('it''s ?1', ?2)", "VALUES ('it''s ?1', $2)"),
            ("a ? b", "a ? b"),
        ];
        for (sql, expected) in cases {
            assert_eq!(numbered(sql), expected);
        }
    }
}
