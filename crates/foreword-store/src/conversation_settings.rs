//! Conversation settings: session instructions, working directory and template context, set by the owner. They apply to
//! every turn of the conversation, on every node. Whether a value is allowed is decided by the caller.

use foreword_core::id::ConversationId;
use foreword_core::template_context::TemplateContext;
use foreword_core::timestamp::Timestamp;

use crate::changes::StoreChange;
use crate::conversation_lock::{lock, not_found};
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::error::StoreError;
use crate::store::Store;

/// The settings of a conversation. The default is a conversation without any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConversationSettings {
    /// Instructions for this conversation alone.
    pub session_instructions: Option<String>,
    /// The working directory: relative to the workspace, or absolute.
    pub cwd: Option<String>,
    /// Values for templates.
    pub context: Option<TemplateContext>,
}

impl ConversationSettings {
    /// Whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A change of one setting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SettingChange<T> {
    /// The setting keeps its value.
    #[default]
    Keep,
    /// The setting is removed.
    Remove,
    /// The setting gets this value.
    Set(T),
}

impl<T> SettingChange<T> {
    /// Sets the value if there is one, else keeps the current one.
    #[must_use]
    pub fn set_if(value: Option<T>) -> Self {
        value.map_or(Self::Keep, Self::Set)
    }

    fn apply(&self, current: &mut Option<T>)
    where
        T: Clone,
    {
        match self {
            Self::Keep => {}
            Self::Remove => *current = None,
            Self::Set(value) => *current = Some(value.clone()),
        }
    }
}

/// A change of a conversation's settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SettingsUpdate {
    pub session_instructions: SettingChange<String>,
    /// The working directory.
    pub cwd: SettingChange<String>,
    /// The values for templates, all together: they are not merged with the old ones.
    pub context: SettingChange<TemplateContext>,
}

impl SettingsUpdate {
    /// Whether it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// `settings` after this change.
    #[must_use]
    pub fn applied_to(&self, settings: &ConversationSettings) -> ConversationSettings {
        let mut changed = settings.clone();
        self.session_instructions.apply(&mut changed.session_instructions);
        self.cwd.apply(&mut changed.cwd);
        self.context.apply(&mut changed.context);
        changed
    }
}

impl From<ConversationSettings> for SettingsUpdate {
    /// The change that sets what is set there and keeps the rest.
    fn from(settings: ConversationSettings) -> Self {
        Self {
            session_instructions: SettingChange::set_if(settings.session_instructions),
            cwd: SettingChange::set_if(settings.cwd),
            context: SettingChange::set_if(settings.context),
        }
    }
}

/// Settings and their version, which grows with every change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionedSettings {
    /// 0 as long as nothing was ever set.
    pub version: u64,
    pub settings: ConversationSettings,
}

impl Store {
    /// The settings of a conversation; none if there is no such conversation.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn conversation_settings(
        &self,
        conversation: &ConversationId,
    ) -> Result<ConversationSettings, StoreError> {
        Ok(self.run(Get(conversation.clone())).await?.settings)
    }

    /// Changes the settings of a conversation, and returns them as they are now.
    ///
    /// # Errors
    /// If there is no such conversation, or they can't be written.
    pub async fn update_conversation_settings(
        &self,
        conversation: &ConversationId,
        update: SettingsUpdate,
        at: Timestamp,
    ) -> Result<ConversationSettings, StoreError> {
        self.run(Update { conversation: conversation.clone(), update, at }).await
    }
}

const READ: &str =
    "SELECT c.settings_version, s.session_instructions, s.cwd, s.context FROM conversations AS c
     LEFT JOIN conversation_settings AS s ON s.conversation_id = c.id WHERE c.id = ?1";

struct Get(ConversationId);

impl Operation for Get {
    type Output = VersionedSettings;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<VersionedSettings, StoreError> {
        read(sql, &self.0).await.map(Option::unwrap_or_default)
    }
}

struct Update {
    conversation: ConversationId,
    update: SettingsUpdate,
    at: Timestamp,
}

impl Operation for Update {
    type Output = ConversationSettings;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<ConversationSettings, StoreError> {
        let id = &self.conversation;
        lock(sql, id).await?;
        let current = read(sql, id).await?.ok_or_else(|| not_found(id))?.settings;
        let changed = self.update.applied_to(&current);
        if changed == current {
            return Ok(changed);
        }
        write(sql, id, &changed, self.at).await?;
        sql.announce(StoreChange::Settings(id.clone()));
        Ok(changed)
    }
}

/// The settings of a conversation, or `None` if there is no such conversation.
pub(crate) async fn read(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
) -> Result<Option<VersionedSettings>, StoreError> {
    let row = sql.query_optional(READ, values![conversation]).await?;
    row.as_ref().map(versioned).transpose()
}

/// Writes the settings and increments their version. The caller holds the conversation's lock.
pub(crate) async fn write(
    sql: &mut Transaction<'_>,
    conversation: &ConversationId,
    settings: &ConversationSettings,
    at: Timestamp,
) -> Result<(), StoreError> {
    let context = settings.context.as_ref().map(serde_json::to_string).transpose();
    let context = context.map_err(|error| StoreError::Unreadable {
        what: format!("the context of a conversation: {error}"),
    })?;
    sql.execute(
        "INSERT INTO conversation_settings (conversation_id, session_instructions, cwd, context, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (conversation_id) DO UPDATE SET session_instructions = excluded.session_instructions,
             cwd = excluded.cwd, context = excluded.context, updated_at = excluded.updated_at",
        values![
            conversation,
            settings.session_instructions.as_deref(),
            settings.cwd.as_deref(),
            context.as_deref(),
            at
        ],
    )
    .await?;
    let increment = "UPDATE conversations SET settings_version = settings_version + 1 WHERE id = ?1";
    sql.execute(increment, values![conversation]).await.map(drop)
}

fn versioned(row: &Row) -> Result<VersionedSettings, StoreError> {
    let context = match row.get::<Option<String>>(3)? {
        Some(_) => Some(row.json(3)?),
        None => None,
    };
    let settings = ConversationSettings { session_instructions: row.get(1)?, cwd: row.get(2)?, context };
    Ok(VersionedSettings { version: row.get(0)?, settings })
}
