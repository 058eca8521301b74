//! At which trust a conversation is made shorter that somebody wants shorter. A summary at the trust of whoever asks would hide
//! the history from those it belongs to: it is made for them.

use foreword_core::id::ConversationId;
use foreword_prompt::occasion::Channel;
use foreword_workspace::request::DIRECT;

use crate::agent::request;
use crate::error::AgentError;
use crate::inbound::{Occasion, is_shared};
use crate::prepare::Placed;
use crate::shared::Shared;

/// Where the summary is made that is asked for on `occasion`: in somebody's own conversation at their trust, whoever asks;
/// anywhere else at one that everybody has who has spoken there. Never at more than whoever asks has.
pub(crate) async fn placed(
    shared: &Shared,
    conversation: &ConversationId,
    occasion: Occasion,
) -> Result<Placed, AgentError> {
    let at = |occasion| Placed::at(shared, conversation.clone(), occasion);
    let Some(found) = shared.store.conversation(conversation).await? else { return Ok(at(occasion)) };
    let snapshot = shared.workspace.snapshot();
    let asking = request(shared, &occasion).identify(&snapshot.config).occasion.user;
    match found.user {
        Some(user) if found.situation == DIRECT && !is_shared(occasion.situation()) => {
            if asking.as_deref() == Some(user.as_str()) {
                return Ok(at(occasion));
            }
            let ceiling = at(occasion.clone()).accepted_at;
            let theirs = at(Occasion {
                user: Some(user.into()),
                channel: found.channel.as_deref().map(Channel::new),
                agent: occasion.agent,
                model: occasion.model,
                watched: occasion.watched,
                ..Occasion::default()
            });
            Ok(Placed { accepted_at: theirs.accepted_at.meet(ceiling), ..theirs })
        }
        _ => {
            let situation = is_shared(&found.situation).then(|| found.situation.as_str().into());
            let here = at(Occasion { situation: situation.or(occasion.situation.clone()), ..occasion });
            let heard = shared.store.audience(conversation).await?.unwrap_or(here.accepted_at);
            Ok(Placed { accepted_at: here.accepted_at.meet(heard), ..here })
        }
    }
}
