//! Gives a conversation to another agent: now if nothing runs in it, else right behind the turn that runs. An agent does it
//! itself with its tool `hand_over`, when its turn ends; see [`crate::tools::hand_over`].

use std::sync::Arc;

use foreword_core::event::{Event, EventType};
use foreword_core::hand_over::{HandOver as Handed, Wish, reason_line};
use foreword_core::id::ConversationId;
use foreword_core::message::ContentBlock;
use foreword_core::timestamp::Timestamp;
use foreword_core::tools::HAND_OVER;
use foreword_core::turn::Said;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::hand_overs::{Given, NewHandOver};
use foreword_workspace::config::Config;
use serde_json::json;
use tokio::sync::oneshot;

use crate::agent::{Agent, request};
use crate::conversation::Command;
use crate::error::AgentError;
use crate::feed::{Feed, Progress};
use crate::inbound::{Occasion, is_shared};
use crate::shared::Shared;

/// A wish to give a conversation to another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandOver {
    /// The agent that is to have it.
    pub to: Arc<str>,
    /// Who wishes it: it takes the trust that the tool `hand_over` takes, or full trust where that is switched off.
    pub by: Occasion,
    /// Why; the new agent reads it.
    pub reason: Option<String>,
}

impl Agent {
    /// Gives a conversation to another agent, behind the turn that runs here, if one does. From the next message on the new
    /// agent answers, on a prompt of its own, and is told from whom it has the conversation and who said what.
    ///
    /// # Errors
    /// If there is no such agent or conversation, whoever wishes it is not trusted with it, another node runs a turn, or it
    /// can't be stored.
    pub async fn hand_over(
        &self,
        conversation: &ConversationId,
        wish: HandOver,
    ) -> Result<Handed, AgentError> {
        let new = checked(self.shared(), conversation, wish).await?;
        let (done, result) = oneshot::channel();
        self.post(conversation, Command::HandOver { new: Box::new(new), done });
        result.await.unwrap_or(Err(AgentError::Closed))
    }
}

/// What is to be stored, if whoever wishes it may.
async fn checked(
    shared: &Shared,
    conversation: &ConversationId,
    wish: HandOver,
) -> Result<NewHandOver, AgentError> {
    let snapshot = shared.workspace.snapshot();
    let roster = &snapshot.config.roster;
    let found = shared.store.conversation(conversation).await?;
    // The only one left can still be given what another has had.
    let had_by_other = found.as_ref().is_some_and(|found| roster.find(&found.agent).is_none());
    let taken_back = had_by_other && roster.find(&wish.to).is_some();
    if !roster.has_company() && !taken_back {
        return Err(AgentError::OneAgent);
    }
    let to = snapshot.of_agent(Some(&wish.to))?.config.agent.name.to_string();
    let Some(found) = found else {
        return Err(StoreError::NotFound { what: "conversation", id: conversation.to_string() }.into());
    };
    let mut request = request(shared, &wish.by);
    if is_shared(wish.by.situation()) || is_shared(&found.situation) {
        request.audience = shared.store.audience(conversation).await?;
    }
    let who = request.identify(&snapshot.config);
    let trust = who.trust.effective();
    let needed = snapshot.of_agent(Some(&found.agent)).map_or(Trust::Full, |own| needed(&own.config));
    if !trust.permits(needed) {
        return Err(AgentError::NotTrusted { needed, trust });
    }
    let reason = wish.reason.as_deref().and_then(reason_line);
    let user = who.user.map(|user| user.name.to_string());
    let wish = Wish { user, by_agent: false, reason, trust };
    let notice = shared.surroundings.id("m")?;
    Ok(NewHandOver { conversation: conversation.clone(), to, wish, notice, at: shared.now() })
}

/// The trust it takes to take a conversation from the agent with this configuration.
fn needed(config: &Config) -> Trust {
    let tool = config.tools.iter().find(|tool| tool.name == HAND_OVER);
    tool.map_or(Trust::Full, |tool| tool.trust)
}

/// Gives the conversation away, and tells everybody.
pub(crate) async fn give(shared: &Shared, new: NewHandOver, feed: &Feed) -> Result<Handed, AgentError> {
    let (conversation, to) = (new.conversation.clone(), new.to.clone());
    match shared.store.hand_over(new).await? {
        Given::HandedOver(given) => {
            let (handed, _) = *given;
            tell(shared, &conversation, &handed, feed);
            Ok(handed)
        }
        Given::Same => Err(AgentError::SameAgent { conversation, agent: to }),
        Given::Busy => Err(AgentError::Busy(conversation)),
    }
}

/// Tells everybody of a hand-over that a turn has wished for, now that it has ended.
pub(crate) async fn after_turn(
    shared: &Shared,
    conversation: &ConversationId,
    (said, at): (&[Said], Timestamp),
    feed: &Feed,
) {
    let called =
        |block: &ContentBlock| matches!(block, ContentBlock::ToolCall { name, .. } if name == HAND_OVER);
    if !said.iter().flat_map(|said| &said.content).any(called) {
        return;
    }
    // It has taken place, whether or not it can be told of.
    let last = shared.store.hand_overs(conversation).await.ok().and_then(|mut all| all.pop());
    if let Some(handed) = last.filter(|last| last.wish.by_agent && last.at == at) {
        tell(shared, conversation, &handed, feed);
    }
}

fn tell(shared: &Shared, conversation: &ConversationId, handed: &Handed, feed: &Feed) {
    let by = handed.wish.user.as_deref();
    shared.log(Event {
        session_id: Some(conversation.clone()),
        user_id: by.map(Into::into),
        metadata: Some(json!({
            "from": handed.from, "to": handed.to, "byAgent": handed.wish.by_agent, "number": handed.number,
        })),
        ..Event::new(EventType::HandedOver, handed.at)
    });
    feed.tell(Progress::Status(format!("`{}` answers from the next message on.", handed.to)));
}
