//! Parses the location of the store: a path or a Postgres URL. Errors do not repeat the text, since it may contain a
//! password.

use std::fmt;

/// The location of the store.
///
/// ```
/// use foreword_core::store_url::StoreUrl;
/// assert!(StoreUrl::parse("data/foreword.db").is_ok());
/// assert!(StoreUrl::parse("postgres://alice:s3cret@db/house").is_ok());
/// // A missing slash does not make it a file name.
/// assert!(StoreUrl::parse("postgres:/alice:s3cret@db/house").is_err());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// The path of a SQLite file.
    File(String),
    /// A Postgres URL, which may contain a password.
    Postgres(String),
}

/// An invalid store location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadStoreUrl {
    /// An unsupported database.
    #[error("there is no storage engine for `{scheme}`")]
    Engine {
        /// The URL scheme.
        scheme: String,
    },
    /// Neither a path nor a URL.
    #[error("this is neither the path of a file nor the address of a database")]
    Neither,
}

impl BadStoreUrl {
    /// How to fix it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        "use a file's path (`./` before one with a `:` or `@` in it), or postgres://user@host/database"
    }
}

impl StoreUrl {
    /// Parses `postgres://…`, `sqlite:path`, or a path.
    ///
    /// # Errors
    /// If it is none of these.
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

/// Whether the text can only be a path.
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
    fn paths_and_urls_are_distinguished() {
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
    fn malformed_urls_are_rejected_and_not_repeated() {
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
