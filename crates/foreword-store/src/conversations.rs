//! Conversations: create, get, list and delete.

pub(crate) mod search;

use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;

use crate::changes::StoreChange;
use crate::conversation_lock::lock;
use crate::conversation_settings::{self, ConversationSettings};
use crate::engine::{Access, Operation, Row, Transaction, values};
use crate::epochs;
use crate::error::StoreError;
use crate::store::Store;

pub use search::{ConversationSearch, FoundConversations, SearchScope};

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    pub id: ConversationId,
    /// The current agent.
    pub agent: String,
    /// Whether several agents were configured when it was created.
    pub one_of_several: bool,
    /// The user who started it, by name; `None` if unknown.
    pub user: Option<String>,
    /// The channel, such as `signal:group-7`.
    pub channel: Option<String>,
    /// The situation, such as `direct` or `group`.
    pub situation: String,
    /// A display title.
    pub title: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its last message was written. Never decreases, even if the clock does.
    pub last_activity_at: Timestamp,
}

/// A conversation to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConversation {
    pub id: ConversationId,
    pub agent: String,
    /// Whether several agents are configured.
    pub one_of_several: bool,
    /// The user who starts it, by name; `None` if unknown.
    pub user: Option<String>,
    pub channel: Option<String>,
    pub situation: String,
    /// A display title.
    pub title: Option<String>,
    pub settings: ConversationSettings,
    /// The creation time.
    pub at: Timestamp,
}

impl NewConversation {
    /// A conversation with the only agent, without user, channel and title.
    #[must_use]
    pub fn new(
        id: ConversationId,
        agent: impl Into<String>,
        situation: impl Into<String>,
        at: Timestamp,
    ) -> Self {
        let (agent, situation) = (agent.into(), situation.into());
        Self {
            id,
            agent,
            one_of_several: false,
            user: None,
            channel: None,
            situation,
            title: None,
            settings: ConversationSettings::default(),
            at,
        }
    }
}

/// The result of creating a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// It is new.
    New(Conversation),
    /// It existed, perhaps with another user or agent. It is unchanged.
    Before(Conversation),
}

impl Created {
    /// The conversation in either case.
    #[must_use]
    pub fn conversation(self) -> Conversation {
        match self {
            Self::New(conversation) | Self::Before(conversation) => conversation,
        }
    }
}

/// Which conversations to list, newest activity first.
///
/// ```
/// use foreword_store::conversations::ConversationPage;
/// let first = ConversationPage::first(50).of_user("alice");
/// # let listed: Vec<foreword_store::conversations::Conversation> = vec![];
/// let second = first.after(&listed); // `None`: that was all
/// assert_eq!(second, None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationPage {
    limit: u32,
    user: Option<String>,
    agent: Option<String>,
    behind: Option<(Timestamp, ConversationId)>,
}

impl ConversationPage {
    /// The `limit` newest.
    #[must_use]
    pub fn first(limit: u32) -> Self {
        Self { limit, user: None, agent: None, behind: None }
    }

    /// Only those of `user`.
    #[must_use]
    pub fn of_user(self, user: impl Into<String>) -> Self {
        Self { user: Some(user.into()), ..self }
    }

    /// Only those of `agent`.
    #[must_use]
    pub fn of_agent(self, agent: impl Into<String>) -> Self {
        Self { agent: Some(agent.into()), ..self }
    }

    /// Only those that contain `words`, ignoring case. No character is a wildcard.
    #[must_use]
    pub fn matching(self, words: &str, within: SearchScope) -> ConversationSearch {
        ConversationSearch::new(self, words, within)
    }

    /// Only those after `id`, whose last activity was at `at`.
    #[must_use]
    pub fn behind(self, at: Timestamp, id: ConversationId) -> Self {
        Self { behind: Some((at, id)), ..self }
    }

    /// The next page after one that returned `listed`, or `None` if that was the last.
    ///
    /// A conversation with new activity moves to the front and is not listed again.
    #[must_use]
    pub fn after(self, listed: &[Conversation]) -> Option<Self> {
        let last = listed.last().filter(|_| listed.len() >= self.limit as usize)?;
        Some(self.behind(last.last_activity_at, last.id.clone()))
    }
}

impl Store {
    /// Creates a conversation. An existing one with that id is left unchanged.
    pub async fn create_conversation(&self, new: NewConversation) -> Result<Created, StoreError> {
        self.run(Create(new)).await
    }

    /// The conversation with that id.
    pub async fn conversation(&self, id: &ConversationId) -> Result<Option<Conversation>, StoreError> {
        self.run(Get(id.clone())).await
    }

    /// Lists conversations, newest activity first.
    pub async fn conversations(&self, page: ConversationPage) -> Result<Vec<Conversation>, StoreError> {
        self.run(List(page)).await
    }

    /// Deletes a conversation with its messages, epochs, compactions and turns, and the frozen texts that no other
    /// conversation uses. Returns whether it existed.
    pub async fn delete_conversation(&self, id: &ConversationId) -> Result<bool, StoreError> {
        self.run(Delete(id.clone())).await
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, agent, user_id, channel, situation, title, created_at, last_activity_at, one_of_several
             FROM conversations ",
            $rest
        )
    };
}

pub(crate) const GET: &str = select!("WHERE id = ?1");
pub(crate) const FIRST: &str = select!("ORDER BY last_activity_at DESC, id DESC LIMIT ?1");
pub(crate) const NEXT: &str =
    select!("WHERE (last_activity_at, id) < (?2, ?3) ORDER BY last_activity_at DESC, id DESC LIMIT ?1");
pub(crate) const FIRST_OF_USER: &str =
    select!("WHERE user_id = ?2 ORDER BY last_activity_at DESC, id DESC LIMIT ?1");
pub(crate) const NEXT_OF_USER: &str = select!(
    "WHERE user_id = ?2 AND (last_activity_at, id) < (?3, ?4) ORDER BY last_activity_at DESC, id DESC LIMIT ?1"
);

const FIRST_OF_AGENT: &str = select!("WHERE agent = ?2 ORDER BY last_activity_at DESC, id DESC LIMIT ?1");
const NEXT_OF_AGENT: &str = select!(
    "WHERE agent = ?2 AND (last_activity_at, id) < (?3, ?4) ORDER BY last_activity_at DESC, id DESC LIMIT ?1"
);
const FIRST_OF_BOTH: &str =
    select!("WHERE agent = ?2 AND user_id = ?3 ORDER BY last_activity_at DESC, id DESC LIMIT ?1");
const NEXT_OF_BOTH: &str = select!(
    "WHERE agent = ?2 AND user_id = ?5 AND (last_activity_at, id) < (?3, ?4)
     ORDER BY last_activity_at DESC, id DESC LIMIT ?1"
);

struct Create(NewConversation);

impl Operation for Create {
    type Output = Created;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Created, StoreError> {
        let new = &self.0;
        lock(sql, &new.id).await?;
        if let Some(there) = get(sql, &new.id).await? {
            return Ok(Created::Before(there));
        }
        sql.execute(
            "INSERT INTO conversations
                 (id, agent, user_id, channel, situation, title, created_at, last_activity_at, one_of_several)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8)",
            values![
                &new.id,
                &new.agent,
                new.user.as_deref(),
                new.channel.as_deref(),
                &new.situation,
                new.title.as_deref(),
                new.at,
                new.one_of_several
            ],
        )
        .await?;
        if !new.settings.is_empty() {
            conversation_settings::write(sql, &new.id, &new.settings, new.at).await?;
        }
        sql.announce(StoreChange::Conversation(new.id.clone()));
        let new = new.clone();
        Ok(Created::New(Conversation {
            id: new.id,
            agent: new.agent,
            one_of_several: new.one_of_several,
            user: new.user,
            channel: new.channel,
            situation: new.situation,
            title: new.title,
            created_at: new.at,
            last_activity_at: new.at,
        }))
    }
}

struct Get(ConversationId);

impl Operation for Get {
    type Output = Option<Conversation>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Option<Conversation>, StoreError> {
        get(sql, &self.0).await
    }
}

struct List(ConversationPage);

impl Operation for List {
    type Output = Vec<Conversation>;
    const ACCESS: Access = Access::Read;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<Vec<Conversation>, StoreError> {
        let ConversationPage { limit, user, agent, behind } = &self.0;
        let limit = *limit;
        if let Some(agent) = agent {
            return of_agent(sql, agent, &self.0).await;
        }
        let rows = match (user, behind) {
            (None, None) => sql.query(FIRST, values![limit]).await?,
            (None, Some((at, id))) => sql.query(NEXT, values![limit, *at, id]).await?,
            (Some(user), None) => sql.query(FIRST_OF_USER, values![limit, user]).await?,
            (Some(user), Some((at, id))) => sql.query(NEXT_OF_USER, values![limit, user, *at, id]).await?,
        };
        rows.iter().map(conversation).collect()
    }
}

/// Lists an agent's conversations by filtering all of them. With few agents, most rows match.
async fn of_agent(
    sql: &mut Transaction<'_>,
    agent: &str,
    page: &ConversationPage,
) -> Result<Vec<Conversation>, StoreError> {
    let limit = page.limit;
    let rows = match (&page.user, &page.behind) {
        (None, None) => sql.query(FIRST_OF_AGENT, values![limit, agent]).await?,
        (None, Some((at, id))) => sql.query(NEXT_OF_AGENT, values![limit, agent, *at, id]).await?,
        (Some(user), None) => sql.query(FIRST_OF_BOTH, values![limit, agent, user]).await?,
        (Some(user), Some((at, id))) => sql.query(NEXT_OF_BOTH, values![limit, agent, *at, id, user]).await?,
    };
    rows.iter().map(conversation).collect()
}

struct Delete(ConversationId);

impl Operation for Delete {
    type Output = bool;
    const ACCESS: Access = Access::Write;

    async fn run(&self, sql: &mut Transaction<'_>) -> Result<bool, StoreError> {
        let id = &self.0;
        lock(sql, id).await?;
        let texts = epochs::texts_of(sql, id).await?;
        // Foreign keys delete everything that refers to it.
        let deleted = sql.execute("DELETE FROM conversations WHERE id = ?1", values![id]).await?;
        epochs::drop_unused_texts(sql, &texts).await?;
        if deleted > 0 {
            sql.announce(StoreChange::Conversation(id.clone()));
        }
        Ok(deleted > 0)
    }
}

async fn get(sql: &mut Transaction<'_>, id: &ConversationId) -> Result<Option<Conversation>, StoreError> {
    sql.query_optional(GET, values![id]).await?.as_ref().map(conversation).transpose()
}

fn conversation(row: &Row) -> Result<Conversation, StoreError> {
    Ok(Conversation {
        id: row.parse(0)?,
        agent: row.get(1)?,
        user: row.get(2)?,
        channel: row.get(3)?,
        situation: row.get(4)?,
        title: row.get(5)?,
        created_at: row.parse(6)?,
        last_activity_at: row.parse(7)?,
        one_of_several: row.get(8)?,
    })
}
