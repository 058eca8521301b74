//! Hands a conversation over to another agent, after the running turn if there is one. An agent requests it with the
//! tool `hand_over`; see `tools/hand_over.rs`.

use std::sync::Arc;

use foreword_core::event::{Event, EventType};
use foreword_core::hand_over::{HandOver, HandOverRequest, reason_line};
use foreword_core::id::ConversationId;
use foreword_core::message::ContentBlock;
use foreword_core::timestamp::Timestamp;
use foreword_core::tools::HAND_OVER;
use foreword_core::turn::TurnMessage;
use foreword_prompt::trust::Trust;
use foreword_store::error::StoreError;
use foreword_store::hand_overs::{HandOverOutcome, NewHandOver};
use foreword_workspace::config::Config;
use serde_json::json;
use tokio::sync::oneshot;

use crate::agent::Agent;
use crate::conversation::feed::{Feed, Progress};
use crate::conversation::inbound::{TurnOrigin, is_shared};
use crate::conversation::mailbox::Command;
use crate::error::AgentError;
use crate::shared::Shared;

/// A request to hand a conversation over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedHandOver {
    /// The new agent.
    pub to: Arc<str>,
    /// The requester. Needs the trust of the tool `hand_over`, or full trust if the tool is disabled.
    pub by: TurnOrigin,
    /// The reason, for the new agent.
    pub reason: Option<String>,
}

impl Agent {
    /// Hands a conversation over, after the running turn if there is one. The new agent answers the next message with
    /// its own prompt, which names the previous agent and the author of each message.
    ///
    /// # Errors
    /// If the agent or conversation does not exist, the trust is not sufficient, another node runs a turn, or it can't
    /// be stored.
    pub async fn hand_over(
        &self,
        conversation: &ConversationId,
        request: RequestedHandOver,
    ) -> Result<HandOver, AgentError> {
        let new = checked(self.shared(), conversation, request).await?;
        let (done, result) = oneshot::channel();
        self.post(conversation, Command::HandOver { new: Box::new(new), done });
        result.await.unwrap_or(Err(AgentError::Closed))
    }
}

/// The hand-over to store, if the request is permitted.
async fn checked(
    shared: &Shared,
    conversation: &ConversationId,
    request: RequestedHandOver,
) -> Result<NewHandOver, AgentError> {
    let snapshot = shared.workspace.snapshot();
    let roster = &snapshot.config.roster;
    let found = shared.store.conversation(conversation).await?;
    // A single remaining agent may take over the conversations of removed agents.
    let had_by_other = found.as_ref().is_some_and(|found| roster.find(&found.agent).is_none());
    let taken_back = had_by_other && roster.find(&request.to).is_some();
    if !roster.has_several() && !taken_back {
        return Err(AgentError::OneAgent);
    }
    let to = snapshot.of_agent(Some(&request.to))?.config.agent.name.to_string();
    let Some(found) = found else {
        return Err(StoreError::NotFound { what: "conversation", id: conversation.to_string() }.into());
    };
    let mut speaker = request.by.limited_speaker();
    if is_shared(request.by.situation()) || is_shared(&found.situation) {
        speaker.audience = shared.store.audience(conversation).await?;
    }
    let who = speaker.resolve(&snapshot.config, None, &shared.clock_and_rng.now());
    let trust = who.trust.effective();
    let needed = snapshot.of_agent(Some(&found.agent)).map_or(Trust::Full, |own| required_trust(&own.config));
    if !trust.permits(needed) {
        return Err(AgentError::NotTrusted { needed, trust });
    }
    let reason = request.reason.as_deref().and_then(reason_line);
    let user = who.user.map(|user| user.name.to_string());
    let wish = HandOverRequest { user, by_agent: false, reason, trust };
    let notice = shared.clock_and_rng.id("m")?;
    Ok(NewHandOver { conversation: conversation.clone(), to, wish, notice, at: shared.now() })
}

/// The trust that a hand-over from the agent with this configuration requires.
fn required_trust(config: &Config) -> Trust {
    let tool = config.tools.iter().find(|tool| tool.name == HAND_OVER);
    tool.map_or(Trust::Full, |tool| tool.trust)
}

/// Stores the hand-over, logs it and publishes it in the feed.
pub(crate) async fn perform(shared: &Shared, new: NewHandOver, feed: &Feed) -> Result<HandOver, AgentError> {
    let (conversation, to) = (new.conversation.clone(), new.to.clone());
    match shared.store.hand_over(new).await? {
        HandOverOutcome::HandedOver(given) => {
            let (handed, _) = *given;
            publish(shared, &conversation, &handed, feed);
            Ok(handed)
        }
        HandOverOutcome::Same => Err(AgentError::SameAgent { conversation, agent: to }),
        HandOverOutcome::Busy => Err(AgentError::Busy(conversation)),
    }
}

/// Logs and publishes a hand-over that the ended turn has requested.
pub(crate) async fn after_turn(
    shared: &Shared,
    conversation: &ConversationId,
    messages: &[TurnMessage],
    at: Timestamp,
    feed: &Feed,
) {
    let called =
        |block: &ContentBlock| matches!(block, ContentBlock::ToolCall { name, .. } if name == HAND_OVER);
    if !messages.iter().flat_map(|message| &message.content).any(called) {
        return;
    }
    // The hand-over is already stored; a read error only omits the notice.
    let last = shared.store.hand_overs(conversation).await.ok().and_then(|mut all| all.pop());
    if let Some(handed) = last.filter(|last| last.wish.by_agent && last.at == at) {
        publish(shared, conversation, &handed, feed);
    }
}

fn publish(shared: &Shared, conversation: &ConversationId, handed: &HandOver, feed: &Feed) {
    let by = handed.wish.user.as_deref();
    shared.log(Event {
        session_id: Some(conversation.clone()),
        user_id: by.map(Into::into),
        metadata: Some(json!({
            "from": handed.from, "to": handed.to, "byAgent": handed.wish.by_agent, "number": handed.number,
        })),
        ..Event::new(EventType::HandedOver, handed.at)
    });
    feed.publish(Progress::Status(format!("`{}` answers from the next message on.", handed.to)));
}
