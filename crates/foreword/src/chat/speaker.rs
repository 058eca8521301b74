//! Who speaks in a chat, where, and what somebody nobody knows is told.

use std::sync::Arc;

use foreword_agent::inbound::{Occasion, Watched};
use foreword_core::id::ConversationId;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::occasion::Channel;
use foreword_workspace::config::Config;
use foreword_workspace::request::Request;

use super::one_line::exposed;
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
        cwd: None,
        session_instructions: text(&args.session_instructions),
        watched: Watched::AtScreen,
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
        session_instructions: occasion.session_instructions,
        ..Request::at(jiff::Zoned::now(), world.marker)
    }
}

/// What is strange about a speaker: names nobody has written down are allowed, and trusted with nothing.
pub(crate) fn oddities(speaker: &As, config: &Config) -> Vec<String> {
    let users: Vec<&str> = config.users.iter().map(|user| &*user.name).collect();
    let situations: Vec<&str> = config.situations.keys().map(|name| &**name).collect();
    let unknown = |name: &Option<String>, known: &[&str], what: &str| {
        let name = name.as_deref().filter(|name| !known.contains(name))?;
        let near = did_you_mean(name, known.iter().copied());
        let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
        Some(format!("{what} `{}`, so this is `public`{near}", exposed(name)))
    };
    let user = unknown(&speaker.user, &users, "nobody here is called");
    user.into_iter().chain(unknown(&speaker.situation, &situations, "there is no situation")).collect()
}
