//! API tokens. Only their hashes are stored, and no hash is ever returned.

use std::collections::BTreeSet;

use foreword_core::api_token::{ProxyMode, Scope, TokenHash, TokenLimits, Validity};
use foreword_core::id::TokenId;
use foreword_core::timestamp::Timestamp;

use crate::changes::StoreChange;
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// An API token, without its secret.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiToken {
    pub id: TokenId,
    /// Its display name.
    pub name: String,
    /// The user it authenticates; the token has that user's trust.
    pub user: String,
    pub scopes: BTreeSet<Scope>,
    /// The proxy mode of its requests, if set.
    pub mode: Option<ProxyMode>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// Whether it is valid, expired or revoked.
    pub validity: Validity,
    /// Its limits, where they differ from the defaults.
    pub limits: TokenLimits,
}

/// A token to store.
#[derive(Debug, Clone, PartialEq)]
pub struct NewToken {
    pub id: TokenId,
    /// The hash of the secret.
    pub hash: TokenHash,
    /// Its display name.
    pub name: String,
    /// The user it authenticates.
    pub user: String,
    pub scopes: BTreeSet<Scope>,
    /// The proxy mode of its requests.
    pub mode: Option<ProxyMode>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// Its limits, where they differ from the defaults.
    pub limits: TokenLimits,
}

impl Store {
    /// Stores a token.
    ///
    /// # Errors
    /// [`StoreError::UsedBefore`] if that id or hash exists, or if the database can't be written.
    pub async fn add_token(&self, new: NewToken) -> Result<ApiToken, StoreError> {
        self.run(Add(new)).await
    }

    /// The token with this hash, if it is valid at `now`. `None` if it is unknown, expired or revoked.
    pub async fn usable_token(
        &self,
        hash: &TokenHash,
        now: Timestamp,
    ) -> Result<Option<ApiToken>, StoreError> {
        self.run(Usable { hash: hash.clone(), now }).await
    }

    /// Records that a token was used. The time never decreases.
    pub async fn touch_token(&self, id: &TokenId, at: Timestamp) -> Result<(), StoreError> {
        self.run(Touch { id: id.clone(), at }).await
    }

    /// All tokens, the oldest first.
    pub async fn tokens(&self) -> Result<Vec<ApiToken>, StoreError> {
        self.run(List).await
    }

    /// Revokes a token. An already revoked one stays unchanged.
    ///
    /// # Errors
    /// If there is no such token, or the database can't be written.
    pub async fn revoke_token(&self, id: &TokenId, at: Timestamp) -> Result<ApiToken, StoreError> {
        self.run(Revoke { id: id.clone(), at }).await
    }
}

struct Add(NewToken);

impl Operation for Add {
    type Output = ApiToken;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<ApiToken, StoreError> {
        let new = &self.0;
        let scopes: Vec<&str> = new.scopes.iter().map(|scope| scope.as_str()).collect();
        // Numbers always serialise.
        let limits = Some(new.limits).filter(|limits| *limits != TokenLimits::default());
        let limits = limits.and_then(|limits| serde_json::to_string(&limits).ok());
        let insert =
            "INSERT INTO tokens (id, name, user_name, scopes, mode, hash, created_at, expires_at, limits)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING";
        let added = sql
            .execute(
                insert,
                values![
                    &new.id,
                    &new.name,
                    &new.user,
                    &serde_json::Value::from(scopes),
                    new.mode.map(ProxyMode::as_str),
                    new.hash.reveal(),
                    new.created_at,
                    new.expires_at,
                    limits.as_deref(),
                ],
            )
            .await?;
        if added == 0 {
            return Err(StoreError::UsedBefore { what: "token id or hash", id: new.id.to_string() });
        }
        sql.announce(StoreChange::Tokens);
        get(sql, &new.id).await
    }
}

struct Usable {
    hash: TokenHash,
    now: Timestamp,
}

impl Operation for Usable {
    type Output = Option<ApiToken>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<ApiToken>, StoreError> {
        let select =
            "SELECT id, name, user_name, scopes, mode, created_at, last_used_at, expires_at, revoked_at, limits
            FROM tokens WHERE hash = ?1";
        let found = sql.query_optional(select, values![self.hash.reveal()]).await?;
        let token = found.as_ref().map(token).transpose()?;
        Ok(token.filter(|token| token.validity.is_usable(self.now)))
    }
}

struct Touch {
    id: TokenId,
    at: Timestamp,
}

impl Operation for Touch {
    type Output = ();
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<(), StoreError> {
        let update = "UPDATE tokens SET last_used_at = ?2
            WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)";
        sql.execute(update, values![&self.id, self.at]).await?;
        Ok(())
    }
}

struct List;

impl Operation for List {
    type Output = Vec<ApiToken>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<ApiToken>, StoreError> {
        let select =
            "SELECT id, name, user_name, scopes, mode, created_at, last_used_at, expires_at, revoked_at, limits
            FROM tokens ORDER BY created_at, id";
        sql.query(select, &[]).await?.iter().map(token).collect()
    }
}

struct Revoke {
    id: TokenId,
    at: Timestamp,
}

impl Operation for Revoke {
    type Output = ApiToken;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<ApiToken, StoreError> {
        let update = "UPDATE tokens SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
        if sql.execute(update, values![&self.id, self.at]).await? > 0 {
            sql.announce(StoreChange::Tokens);
        }
        get(sql, &self.id).await
    }
}

async fn get(sql: &mut Transaction<'_>, id: &TokenId) -> Result<ApiToken, StoreError> {
    let select =
        "SELECT id, name, user_name, scopes, mode, created_at, last_used_at, expires_at, revoked_at, limits
        FROM tokens WHERE id = ?1";
    match sql.query_optional(select, values![id]).await? {
        Some(row) => token(&row),
        None => Err(StoreError::NotFound { what: "token", id: id.to_string() }),
    }
}

fn token(row: &Row) -> Result<ApiToken, StoreError> {
    // Ignores scopes that only a newer Foreword knows.
    let scopes: Vec<String> = row.json(3)?;
    let limits: Option<String> = row.get(9)?;
    Ok(ApiToken {
        id: row.parse(0)?,
        name: row.get(1)?,
        user: row.get(2)?,
        scopes: scopes.iter().filter_map(|word| word.parse().ok()).collect(),
        mode: row.parse_optional(4)?,
        created_at: row.parse(5)?,
        last_used_at: row.parse_optional(6)?,
        validity: Validity { expires_at: row.parse_optional(7)?, revoked_at: row.parse_optional(8)? },
        // Unreadable limits count as the defaults.
        limits: limits.and_then(|limits| serde_json::from_str(&limits).ok()).unwrap_or_default(),
    })
}
