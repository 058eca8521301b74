//! Conversations: made, found, listed, deleted with all that belongs to them.

#[cfg(test)]
mod query_plans;
mod search;

use foreword_core::id::ConversationId;
use foreword_core::timestamp::Timestamp;

use crate::changes::Change;
use crate::conversation_settings::{self, ConversationSettings};
use crate::engine::{Access, Operation, Row, Sql, values};
use crate::epochs;
use crate::error::StoreError;
use crate::store::Store;

pub use search::{ConversationSearch, FoundConversations, LookIn};

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// The agent that talks in it.
    pub agent: String,
    /// Whether the agent it was made with was one of several then.
    pub one_of_several: bool,
    /// The user who began it, by name, if it is somebody known.
    pub user: Option<String>,
    /// Where it takes place, such as `signal:group-7`.
    pub channel: Option<String>,
    /// The situation, such as `direct` or `group`.
    pub situation: String,
    /// A name for people.
    pub title: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something was last said in it. Never goes back, whatever the clock does.
    pub last_activity_at: Timestamp,
}

/// A conversation to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConversation {
    /// Its id.
    pub id: ConversationId,
    /// The agent that talks in it.
    pub agent: String,
    /// Whether that is one of several.
    pub one_of_several: bool,
    /// The user who begins it, by name, if it is somebody known.
    pub user: Option<String>,
    /// Where it takes place.
    pub channel: Option<String>,
    /// The situation.
    pub situation: String,
    /// A name for people.
    pub title: Option<String>,
    /// Its settings.
    pub settings: ConversationSettings,
    /// When.
    pub at: Timestamp,
}

impl NewConversation {
    /// A conversation with `agent`, the only one, that belongs to nobody and has no channel and no title.
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

/// A conversation that is there now, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// It has just been made.
    New(Conversation),
    /// It was there, perhaps with another user or agent: it is as it was made first.
    Before(Conversation),
}

impl Created {
    /// The conversation, whichever way.
    #[must_use]
    pub fn conversation(self) -> Conversation {
        match self {
            Self::New(conversation) | Self::Before(conversation) => conversation,
        }
    }
}

/// Which conversations to list. They come by their last activity, the newest first.
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

    /// Only those that belong to `user`.
    #[must_use]
    pub fn of_user(self, user: impl Into<String>) -> Self {
        Self { user: Some(user.into()), ..self }
    }

    /// Only those that `agent` talks in.
    #[must_use]
    pub fn of_agent(self, agent: impl Into<String>) -> Self {
        Self { agent: Some(agent.into()), ..self }
    }

    /// Only those that hold `words`, whatever their case; nothing in them stands for anything else.
    #[must_use]
    pub fn with_words(self, words: &str, within: LookIn) -> ConversationSearch {
        ConversationSearch::new(self, words, within)
    }

    /// Only those that are behind `id`, whose last activity was `at`.
    #[must_use]
    pub fn behind(self, at: Timestamp, id: ConversationId) -> Self {
        Self { behind: Some((at, id)), ..self }
    }

    /// The page that follows one that gave `listed`, or `None` if that was the last.
    ///
    /// One in which something is said in between moves to the front: it is not listed again.
    #[must_use]
    pub fn after(self, listed: &[Conversation]) -> Option<Self> {
        let last = listed.last().filter(|_| listed.len() >= self.limit as usize)?;
        Some(self.behind(last.last_activity_at, last.id.clone()))
    }
}

impl Store {
    /// Makes a conversation, unless there is one with that id: then it stays as it is.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn create_conversation(&self, new: NewConversation) -> Result<Created, StoreError> {
        self.run(Create(new)).await
    }

    /// The conversation with that id, or `None`.
    ///
    /// # Errors
    /// If it can't be read.
    pub async fn conversation(&self, id: &ConversationId) -> Result<Option<Conversation>, StoreError> {
        self.run(Get(id.clone())).await
    }

    /// Conversations by their last activity, the newest first.
    ///
    /// # Errors
    /// If they can't be read.
    pub async fn conversations(&self, page: ConversationPage) -> Result<Vec<Conversation>, StoreError> {
        self.run(List(page)).await
    }

    /// Deletes a conversation with its messages, epochs, compactions and turns, and the frozen texts that nobody else
    /// uses. Says whether there was one.
    ///
    /// # Errors
    /// If it can't be written.
    pub async fn delete_conversation(&self, id: &ConversationId) -> Result<bool, StoreError> {
        self.run(Delete(id.clone())).await
    }
}

/// Waits for whoever else changes this conversation.
pub(crate) async fn lock<S: Sql>(sql: &mut S, id: &ConversationId) -> Result<(), StoreError> {
    sql.lock(&format!("conversation:{id}")).await
}

/// Whether the conversation is there. The caller holds its lock.
pub(crate) async fn must_exist<S: Sql>(sql: &mut S, id: &ConversationId) -> Result<(), StoreError> {
    let found = sql.query_optional("SELECT id FROM conversations WHERE id = ?1", values![id]).await?;
    found.map(drop).ok_or_else(|| not_found(id))
}

/// What a caller hears who names a conversation that is not there.
pub(crate) fn not_found(id: &ConversationId) -> StoreError {
    StoreError::NotFound { what: "conversation", id: id.to_string() }
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

const GET: &str = select!("WHERE id = ?1");
const FIRST: &str = select!("ORDER BY last_activity_at DESC, id DESC LIMIT ?1");
const NEXT: &str =
    select!("WHERE (last_activity_at, id) < (?2, ?3) ORDER BY last_activity_at DESC, id DESC LIMIT ?1");
const FIRST_OF_USER: &str = select!("WHERE user_id = ?2 ORDER BY last_activity_at DESC, id DESC LIMIT ?1");
const NEXT_OF_USER: &str = select!(
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Created, StoreError> {
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
        sql.announce(Change::Conversation(new.id.clone())).await?;
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Option<Conversation>, StoreError> {
        get(sql, &self.0).await
    }
}

struct List(ConversationPage);

impl Operation for List {
    type Output = Vec<Conversation>;
    const ACCESS: Access = Access::Read;

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<Vec<Conversation>, StoreError> {
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

/// Those of an agent: there are few agents, so most of what is looked at is wanted.
async fn of_agent<S: Sql>(
    sql: &mut S,
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

    async fn run<S: Sql>(&self, sql: &mut S) -> Result<bool, StoreError> {
        let id = &self.0;
        lock(sql, id).await?;
        let texts = epochs::texts_of(sql, id).await?;
        // Everything that belongs to it refers to it, and goes with it.
        let deleted = sql.execute("DELETE FROM conversations WHERE id = ?1", values![id]).await?;
        epochs::drop_unused_texts(sql, &texts).await?;
        if deleted > 0 {
            sql.announce(Change::Conversation(id.clone())).await?;
        }
        Ok(deleted > 0)
    }
}

async fn get<S: Sql>(sql: &mut S, id: &ConversationId) -> Result<Option<Conversation>, StoreError> {
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
