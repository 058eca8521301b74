//! The location of the database: a file or a Postgres server. Never prints a password.

use std::fmt;
use std::path::{Path, PathBuf};

use foreword_core::store_url::StoreUrl;

use crate::engine::postgres::Address;
use crate::error::StoreError;

/// The location of the database.
#[derive(Clone, PartialEq, Eq)]
pub struct Location(Kind);

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A SQLite file.
    File(PathBuf),
    /// A Postgres address, including the password.
    Postgres(String),
}

impl Location {
    /// A SQLite file, created on first use.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Kind::File(path.into()))
    }

    /// Parses `url`: `postgres://…`, `sqlite:path`, or a path. Relative paths are resolved against `base`.
    ///
    /// A Postgres address may have options, as in `?sslmode=require&pool_size=20`: the standard ones (`sslmode`,
    /// `sslrootcert`, `connect_timeout`, `options` …); `pool_size`, the maximum number of connections (10); and
    /// `answer_timeout`, the timeout of a statement in seconds (30).
    ///
    /// # Errors
    /// If the scheme is not supported.
    ///
    /// ```
    /// use foreword_store::location::Location;
    /// let home = std::path::Path::new("/home/alice");
    /// assert_eq!(Location::parse("data.db", home).unwrap(), Location::file("/home/alice/data.db"));
    /// let shared = Location::parse("postgres://foreword:s3cret@db/foreword", home).unwrap();
    /// assert_eq!(shared.to_string(), "postgres://db/foreword");
    /// assert!(Location::parse("mysql://db/foreword", home).is_err());
    /// ```
    pub fn parse(url: &str, base: &Path) -> Result<Self, StoreError> {
        Ok(Self::new(&StoreUrl::parse(url)?, base))
    }

    /// The location for `url`; relative paths are resolved against `base`.
    #[must_use]
    pub fn new(url: &StoreUrl, base: &Path) -> Self {
        match url {
            StoreUrl::File(path) => Self::file(base.join(path)),
            StoreUrl::Postgres(address) => Self(Kind::Postgres(address.clone())),
        }
    }

    /// The path, if it is a SQLite file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match &self.0 {
            Kind::File(path) => Some(path),
            Kind::Postgres(_) => None,
        }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.0
    }
}

/// Without user, password and options.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::File(path) => write!(f, "{}", path.display()),
            Kind::Postgres(url) => write!(f, "postgres://{}", server(url)),
        }
    }
}

/// The hosts and database name of an address. An address that can't be parsed is not printed.
fn server(url: &str) -> String {
    let Ok(address) = Address::parse(url, "") else { return "…".to_owned() };
    address.server()
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn password_is_never_printed() {
        let urls = [
            "postgres://alice:s3cret@db:5432/foreword",
            "postgres://alice:s3cret@x@db/foreword",
            "postgres://alice:x@s3cret@db/foreword",
            "postgresql://db/foreword?user=alice&password=s3cret",
            "postgres://alice:s3cret?x@db/foreword",
            "postgres://db/foreword?user=alice&password=x@s3cret",
        ];
        for url in urls {
            let location = Location::parse(url, Path::new("/")).unwrap();
            let shown = format!("{location} {location:?}");
            assert!(!shown.contains("s3cret") && !shown.contains("alice:"), "{shown}");
        }
    }
}
