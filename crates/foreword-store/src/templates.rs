//! The template of all conversations of blueprint `template`: numbered, immutable versions.

use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::ContentHash;

use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// A version of the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateRecord {
    /// Its number, from 1.
    pub version: u64,
    /// The template text.
    pub text: String,
    /// The hash of the text.
    pub hash: ContentHash,
    pub author: String,
    /// The reason, as given by the author.
    pub message: Option<String>,
    /// When it was stored.
    pub at: Timestamp,
}

/// A template to store as the next version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTemplate {
    /// The template text.
    pub text: String,
    pub author: String,
    /// The reason, as given by the author.
    pub message: Option<String>,
    /// The current time.
    pub at: Timestamp,
    /// The expected current version; any other is a conflict. 0 means that there is none yet.
    pub expected: Option<u64>,
}

impl NewTemplate {
    /// A template without a reason that replaces any version.
    #[must_use]
    pub fn new(text: impl Into<String>, author: impl Into<String>, at: Timestamp) -> Self {
        Self { text: text.into(), author: author.into(), message: None, at, expected: None }
    }
}

impl Store {
    /// Stores a template as the next version and returns it. Storing the current text again creates no version and no
    /// conflict.
    ///
    /// # Errors
    /// If another version was expected, or the database can't be written.
    pub async fn add_template(&self, new: NewTemplate) -> Result<TemplateRecord, StoreError> {
        self.run(Add(new)).await
    }

    /// The newest template, or `None` if none was ever stored.
    pub async fn template(&self) -> Result<Option<TemplateRecord>, StoreError> {
        self.run(Newest).await
    }

    /// One version of the template.
    ///
    /// # Errors
    /// If there is no such version, or the database can't be read.
    pub async fn template_version(&self, version: u64) -> Result<TemplateRecord, StoreError> {
        self.run(Get(version)).await
    }

    /// All versions, the newest first.
    pub async fn template_history(&self) -> Result<Vec<TemplateRecord>, StoreError> {
        self.run(History).await
    }
}

struct Add(NewTemplate);

impl Operation for Add {
    type Output = TemplateRecord;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<TemplateRecord, StoreError> {
        let new = &self.0;
        sql.lock("template").await?;
        // A damaged template can be replaced too.
        let newest = sql.query_optional(NEWEST, &[]).await?.as_ref().map(as_found).transpose()?;
        let found = newest.as_ref().map_or(0, |template| template.version);
        let hash = ContentHash::of(&new.text);
        // Before the conflict check, so that a retry after a lost response succeeds.
        if let Some(same) = newest.filter(|template| template.hash == hash && template.text == new.text) {
            return Ok(same);
        }
        if let Some(expected) = new.expected.filter(|expected| *expected != found) {
            return Err(StoreError::VersionConflict {
                what: "the stored",
                id: "template".to_owned(),
                expected,
                found,
            });
        }
        let version = found + 1;
        sql.execute(
            "INSERT INTO templates (version, text, hash, author, message, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            values![version, &new.text, hash, &new.author, new.message.as_deref(), new.at],
        )
        .await?;
        sql.announce(StoreChange::Template);
        let (text, author, message) = (new.text.clone(), new.author.clone(), new.message.clone());
        Ok(TemplateRecord { version, text, hash, author, message, at: new.at })
    }
}

struct Newest;

impl Operation for Newest {
    type Output = Option<TemplateRecord>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<TemplateRecord>, StoreError> {
        newest(sql).await
    }
}

struct Get(u64);

impl Operation for Get {
    type Output = TemplateRecord;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<TemplateRecord, StoreError> {
        let select =
            "SELECT version, text, hash, author, message, created_at FROM templates WHERE version = ?1";
        match sql.query_optional(select, values![self.0]).await? {
            Some(row) => template(&row),
            None => Err(StoreError::NotFound { what: "template version", id: self.0.to_string() }),
        }
    }
}

struct History;

impl Operation for History {
    type Output = Vec<TemplateRecord>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<TemplateRecord>, StoreError> {
        let select =
            "SELECT version, text, hash, author, message, created_at FROM templates ORDER BY version DESC";
        sql.query(select, &[]).await?.iter().map(template).collect()
    }
}

pub(crate) async fn newest(sql: &mut Transaction<'_>) -> Result<Option<TemplateRecord>, StoreError> {
    sql.query_optional(NEWEST, &[]).await?.as_ref().map(template).transpose()
}

const NEWEST: &str =
    "SELECT version, text, hash, author, message, created_at FROM templates ORDER BY version DESC LIMIT 1";

/// Fails if the text does not match its hash.
fn template(row: &Row) -> Result<TemplateRecord, StoreError> {
    let template = as_found(row)?;
    if ContentHash::of(&template.text) != template.hash {
        return Err(StoreError::Damaged { what: "template version", id: template.version.to_string() });
    }
    Ok(template)
}

fn as_found(row: &Row) -> Result<TemplateRecord, StoreError> {
    Ok(TemplateRecord {
        version: row.get(0)?,
        text: row.get(1)?,
        hash: row.parse(2)?,
        author: row.get(3)?,
        message: row.get(4)?,
        at: row.parse(5)?,
    })
}
