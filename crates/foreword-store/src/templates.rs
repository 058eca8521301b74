//! The template that all conversations of blueprint `template` are built from: numbered versions that never change.

use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::ContentHash;

use crate::changes::Change;
use crate::engine::{Access, Operation, Row, Sql, values};
use crate::error::StoreError;
use crate::store::Store;

/// A version of the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Its number; the first is 1.
    pub version: u64,
    /// The template itself.
    pub text: String,
    /// The name of its content.
    pub hash: ContentHash,
    /// Who wrote it.
    pub author: String,
    /// Why, in the author's words.
    pub message: Option<String>,
    /// When it was stored.
    pub at: Timestamp,
}

/// A template to be stored as the next version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTemplate {
    /// The template itself.
    pub text: String,
    /// Who wrote it.
    pub author: String,
    /// Why, in the author's words.
    pub message: Option<String>,
    /// When.
    pub at: Timestamp,
    /// The version it replaces, if the author says so; another one is then a conflict. 0 is "there is none yet".
    pub expected: Option<u64>,
}

impl NewTemplate {
    /// A template without a message that replaces whatever there is.
    #[must_use]
    pub fn new(text: impl Into<String>, author: impl Into<String>, at: Timestamp) -> Self {
        Self { text: text.into(), author: author.into(), message: None, at, expected: None }
    }
}

impl Store {
    /// Stores a template as the next version and gives it back. The same text again is no new version, and no conflict.
    ///
    /// # Errors
    /// If another version was expected, or it can't be written.
    pub async fn add_template(&self, new: NewTemplate) -> Result<Template, StoreError> {
        self.run(Add(new)).await
    }

    /// The newest template, or `None` if none was ever stored.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn template(&self) -> Result<Option<Template>, StoreError> {
        self.run(Newest).await
    }

    /// One version of the template.
    ///
    /// # Errors
    /// If there is no such version, or it can't be read.
    pub async fn template_version(&self, version: u64) -> Result<Template, StoreError> {
        self.run(Get(version)).await
    }

    /// All versions, the newest first.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn template_history(&self) -> Result<Vec<Template>, StoreError> {
        self.run(History).await
    }
}

struct Add(NewTemplate);

impl Operation for Add {
    type Output = Template;
    const ACCESS: Access = Access::Write;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Template, StoreError> {
        let new = &self.0;
        sql.lock("template").await?;
        // One that is damaged can be replaced as well.
        let newest = sql.query_optional(NEWEST, &[]).await?.as_ref().map(as_found).transpose()?;
        let found = newest.as_ref().map_or(0, |template| template.version);
        let hash = ContentHash::of(&new.text);
        // Before the conflict: whoever runs this again after an answer got lost finds what they wrote.
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
        sql.announce(Change::Template).await?;
        let (text, author, message) = (new.text.clone(), new.author.clone(), new.message.clone());
        Ok(Template { version, text, hash, author, message, at: new.at })
    }
}

struct Newest;

impl Operation for Newest {
    type Output = Option<Template>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Option<Template>, StoreError> {
        newest(sql).await
    }
}

struct Get(u64);

impl Operation for Get {
    type Output = Template;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Template, StoreError> {
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
    type Output = Vec<Template>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<Template>, StoreError> {
        let select =
            "SELECT version, text, hash, author, message, created_at FROM templates ORDER BY version DESC";
        sql.query(select, &[]).await?.iter().map(template).collect()
    }
}

pub(crate) async fn newest<S: Sql>(sql: &mut S) -> Result<Option<Template>, StoreError> {
    sql.query_optional(NEWEST, &[]).await?.as_ref().map(template).transpose()
}

const NEWEST: &str =
    "SELECT version, text, hash, author, message, created_at FROM templates ORDER BY version DESC LIMIT 1";

/// A template that is not what was stored is worse than none.
fn template(row: &Row) -> Result<Template, StoreError> {
    let template = as_found(row)?;
    if ContentHash::of(&template.text) != template.hash {
        return Err(StoreError::Damaged { what: "template version", id: template.version.to_string() });
    }
    Ok(template)
}

fn as_found(row: &Row) -> Result<Template, StoreError> {
    Ok(Template {
        version: row.get(0)?,
        text: row.get(1)?,
        hash: row.parse(2)?,
        author: row.get(3)?,
        message: row.get(4)?,
        at: row.parse(5)?,
    })
}
