//! The trust of a requested compaction. A summary at the requester's trust could hide the history from the
//! conversation's members, so it is made at theirs.

use foreword_core::id::ConversationId;
use foreword_prompt::occasion::Channel;
use foreword_workspace::request::DIRECT;
use foreword_workspace::speaker::Speaker;

use crate::conversation::inbound::{TurnOrigin, is_shared};
use crate::error::AgentError;
use crate::shared::Shared;
use crate::turn::scope::TurnScope;

/// The scope of a compaction requested on `occasion`: a direct conversation is summarised at its user's trust, any
/// other at the lowest trust among its speakers. Never above the requester's trust.
pub(crate) async fn turn_scope(
    shared: &Shared,
    conversation: &ConversationId,
    occasion: TurnOrigin,
) -> Result<TurnScope, AgentError> {
    let at = |occasion| TurnScope::at(shared, conversation.clone(), occasion);
    let Some(found) = shared.store.conversation(conversation).await? else { return Ok(at(occasion)) };
    let _snapshot = shared.workspace.snapshot();
    let asking = occasion.principal(shared).occasion.user;
    match found.user {
        Some(user) if found.situation == DIRECT && !is_shared(occasion.situation()) => {
            if asking.as_deref() == Some(user.as_str()) {
                return Ok(at(occasion));
            }
            let ceiling = at(occasion.clone()).accepted_at;
            let theirs = at(TurnOrigin {
                speaker: Speaker {
                    user: Some(user.into()),
                    channel: found.channel.as_deref().map(Channel::new),
                    agent: occasion.speaker.agent,
                    model: occasion.speaker.model,
                    ..Speaker::default()
                },
                attendance: occasion.attendance,
                ..TurnOrigin::default()
            });
            Ok(TurnScope { accepted_at: theirs.accepted_at.meet(ceiling), ..theirs })
        }
        _ => {
            let situation = is_shared(&found.situation).then(|| found.situation.as_str().into());
            let here = at(TurnOrigin {
                speaker: Speaker {
                    situation: situation.or(occasion.speaker.situation.clone()),
                    ..occasion.speaker.clone()
                },
                ..occasion
            });
            let heard = shared.store.audience(conversation).await?.unwrap_or(here.accepted_at);
            Ok(TurnScope { accepted_at: here.accepted_at.meet(heard), ..here })
        }
    }
}
