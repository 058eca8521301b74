//! The speaker in a chat, and their channel and situation.

use std::sync::Arc;

use foreword_agent::conversation::inbound::{Attendance, TurnOrigin};
use foreword_core::id::ConversationId;
use foreword_prompt::occasion::Channel;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;

use super::slash::As;
use crate::cli::ChatArgs;
use crate::process_context::ProcessContext;

/// The speaker that the command line names.
pub(crate) fn named(args: &ChatArgs) -> As {
    As { user: args.user.clone(), situation: args.situation.clone(), channel: args.channel.clone() }
}

pub(crate) fn occasion(speaker: &As, args: &ChatArgs) -> TurnOrigin {
    let text = |word: &Option<String>| word.as_deref().map(Arc::from);
    TurnOrigin {
        speaker: Speaker {
            user: text(&speaker.user),
            channel: speaker.channel.as_deref().map(Channel::new),
            situation: text(&speaker.situation),
            model: text(&args.model),
            ..Speaker::default()
        },
        attendance: Attendance::Interactive,
        ..TurnOrigin::default()
    }
}

pub(crate) fn request(
    occasion: TurnOrigin,
    conversation: &ConversationId,
    process: &ProcessContext,
) -> Request {
    Request {
        speaker: Speaker {
            user: occasion.speaker.user,
            channel: occasion.speaker.channel,
            situation: occasion.speaker.situation,
            model: occasion.speaker.model,
            ..Speaker::default()
        },
        conversation: Some(conversation.as_str().into()),
        ..Request::at(jiff::Zoned::now(), process.marker)
    }
}
