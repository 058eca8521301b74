//! Where the store is, as people write it: a path, or a Postgres address. What is neither is refused before anything is
//! made of it, and never repeated: it may hold a password.

use std::fmt;

/// Where the store is, as it was written.
///
/// ```
/// use foreword_core::store_url::StoreUrl;
/// assert!(StoreUrl::parse("data/foreword.db").is_ok());
/// assert!(StoreUrl::parse("postgres://alice:s3cret@db/house").is_ok());
/// // A slash too few is no file of that name.
/// assert!(StoreUrl::parse("postgres:/alice:s3cret@db/house").is_err());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// The path of a SQLite file.
    File(String),
    /// A Postgres address, password and all.
    Postgres(String),
}

/// What is no place for a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadStoreUrl {
    /// Another kind of database.
    #[error("there is no storage engine for `{scheme}`")]
    Engine {
        /// Which.
        scheme: String,
    },
    /// Something else.
    #[error("this is neither the path of a file nor the address of a database")]
    Neither,
}

impl BadStoreUrl {
    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> &'static str {
        "use a file's path (`./` before one with a `:` or `@` in it), or postgres://user@host/database"
    }
}

impl StoreUrl {
    /// The place written as `text`: `postgres://…`, `sqlite:path`, or a path.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Self, BadStoreUrl> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            let named = !path.is_empty() && !path.starts_with(':');
            return if named { Ok(Self::File(path.to_owned())) } else { Err(BadStoreUrl::Neither) };
        }
        let is_word = |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        match text.split_once("://") {
            Some((scheme, _)) if is_word(scheme) => Err(BadStoreUrl::Engine { scheme: scheme.to_owned() }),
            None if is_path(text) => Ok(Self::File(text.to_owned())),
            _ => Err(BadStoreUrl::Neither),
        }
    }
}

/// Whether nobody can have meant anything but a path.
fn is_path(text: &str) -> bool {
    let plain = !text.is_empty() && !text.starts_with('~') && !text.contains([':', '@', '?', '=']);
    plain || ["/", "./", "../"].iter().any(|start| text.starts_with(start))
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "File({path:?})"),
            Self::Postgres(_) => f.write_str("Postgres(…)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_addresses_are_told_apart() {
        for path in
            ["x.db", "data/x.db", "/var/x.db", "./a:b.db", "../x.db", "sqlite:x.db", "sqlite:///var/x.db"]
        {
            assert!(matches!(StoreUrl::parse(path), Ok(StoreUrl::File(_))), "{path}");
        }
        for address in ["postgres://db/x", "postgresql://alice:s3cret@db/x?sslmode=require"] {
            assert!(matches!(StoreUrl::parse(address), Ok(StoreUrl::Postgres(_))), "{address}");
        }
    }

    #[test]
    fn what_was_meant_to_be_an_address_is_no_path_and_is_not_repeated() {
        let meant = [
            "postgres:/alice:s3cret@127.0.0.1/h",
            "alice:s3cret@127.0.0.1/house",
            "host=127.0.0.1 password=s3cret",
            "file:s3cret.db",
            "SQLITE:s3cret.db",
            ":memory:",
            "sqlite::memory:",
            "~/s3cret.db",
            "s3cret.db?mode=ro",
            "s3cret@x://db",
            "",
            "sqlite:",
        ];
        for text in meant {
            let error = StoreUrl::parse(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{text}: {error:?}");
        }
        assert_eq!(
            StoreUrl::parse("mysql://alice:s3cret@db/x").unwrap_err().to_string(),
            "there is no storage engine for `mysql`"
        );
    }

    #[test]
    fn debug_output_shows_no_password() {
        let address = StoreUrl::parse("postgres://alice:s3cret@db/x").unwrap();
        assert_eq!(format!("{address:?}"), "Postgres(…)");
    }
}
