//! Who speaks in a chat, and where.

use std::sync::Arc;

use foreword_agent::inbound::{Occasion, Watched};
use foreword_core::id::ConversationId;
use foreword_prompt::occasion::Channel;
use foreword_workspace::request::Request;

use super::slash::As;
use crate::cli::ChatArgs;
use crate::world::World;

/// Who speaks, if the command line has its way.
pub(crate) fn named(args: &ChatArgs) -> As {
    As { user: args.user.clone(), situation: args.situation.clone(), channel: args.channel.clone() }
}

/// The occasion on which `speaker` speaks.
pub(crate) fn occasion(speaker: &As, args: &ChatArgs) -> Occasion {
    let text = |word: &Option<String>| word.as_deref().map(Arc::from);
    Occasion {
        user: text(&speaker.user),
        channel: speaker.channel.as_deref().map(Channel::new),
        situation: text(&speaker.situation),
        model: text(&args.model),
        watched: Watched::AtScreen,
        ..Occasion::default()
    }
}

/// The same, as the workspace is asked.
pub(crate) fn request(occasion: Occasion, conversation: &ConversationId, world: &World) -> Request {
    Request {
        user: occasion.user,
        channel: occasion.channel,
        situation: occasion.situation,
        model: occasion.model,
        conversation: Some(conversation.as_str().into()),
        ..Request::at(jiff::Zoned::now(), world.marker)
    }
}
