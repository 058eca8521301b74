//! `foreword status`: how the agent is running, as its tool `foreword_status` would tell it. Looking never makes a
//! database.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::status::Status;
use foreword_agent::viewer::Viewer;
use foreword_core::id::ConversationId;
use foreword_workspace::request::Identified;

use crate::cli::StatusArgs;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::{oddities, request};
use crate::output::{DIM, Output, styled};
use crate::stored::{Stored, now};
use crate::world::World;

pub(crate) fn run(args: &StatusArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let conversation = args.conversation.as_deref().map(ConversationId::new).transpose();
    let conversation = conversation
        .map_err(|error| Failure::usage(error.to_string(), "name one that `foreword status` lists"))?;
    let workspace = world.open()?;
    let snapshot = workspace.snapshot();
    let who = request(&args.who.occasion(), &workspace, world)?.identify(&snapshot.config);
    let (user, situation) = (args.who.user.as_deref(), args.who.situation.as_deref());
    for oddity in oddities(user, situation, &snapshot.config) {
        output.warn(&oddity);
    }
    Names { user, channel: args.who.channel.as_deref(), ..Names::default() }.warn(&snapshot.config, output);
    let stored = Stored::open_existing(&workspace, world)?;
    let status = match &stored {
        Some(stored) => {
            let viewer = viewer(&who, stored, conversation, world);
            stored.wait(Status::seen_by(&viewer, &snapshot.config))?
        }
        None => Status::before_anything(now(world), who.trust.effective()),
    };
    if output.wants_json() {
        output.json(&status)?;
    } else {
        output.print(&status.to_string())?;
        if stored.is_none() {
            output.say(&styled(DIM, "Nothing has happened here yet; `foreword chat` begins a conversation."));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn viewer(
    who: &Identified<'_>,
    stored: &Stored,
    conversation: Option<ConversationId>,
    world: &World,
) -> Viewer {
    Viewer {
        store: stored.store.clone(),
        trust: who.trust.effective(),
        user: who.user.map(|user| Arc::clone(&user.name)),
        conversation,
        turn: None,
        now: now(world),
        zone: world.now.time_zone().clone(),
    }
}
