//! Who looks into what happened, made of the words on the command line.

use std::sync::Arc;

use foreword_agent::viewer::Viewer;
use foreword_core::id::ConversationId;
use foreword_core::since::since;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::store::Store;
use foreword_workspace::workspace::Workspace;

use crate::cli::observe::LookArgs;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::{oddities, request};
use crate::output::Output;
use crate::stored::now;
use crate::world::World;

/// Somebody who looks.
#[derive(Debug)]
pub(crate) struct Looker {
    pub(crate) trust: Trust,
    user: Option<Arc<str>>,
    conversation: Option<ConversationId>,
}

impl Looker {
    pub(crate) fn of(
        args: &LookArgs,
        workspace: &Workspace,
        world: &World,
        output: &Output,
    ) -> Result<Self, Failure> {
        let conversation = args.conversation.as_deref().map(ConversationId::new).transpose();
        let conversation = conversation
            .map_err(|error| Failure::usage(error.to_string(), "name one that `foreword status` lists"))?;
        let snapshot = workspace.snapshot();
        let who = request(&args.occasion(), workspace, world)?.identify(&snapshot.config);
        for oddity in oddities(args.as_user.as_deref(), args.situation.as_deref(), &snapshot.config) {
            output.warn(&oddity);
        }
        Names { user: args.as_user.as_deref(), channel: args.at_channel.as_deref(), ..Names::default() }
            .warn(&snapshot.config, output);
        let user = who.user.map(|user| Arc::clone(&user.name));
        Ok(Self { trust: who.trust.effective(), user, conversation })
    }

    pub(crate) fn viewer(&self, store: &Store, world: &World) -> Viewer {
        Viewer {
            store: store.clone(),
            trust: self.trust,
            user: self.user.clone(),
            conversation: self.conversation.clone(),
            turn: None,
            now: now(world),
            zone: world.now.time_zone().clone(),
        }
    }
}

/// The moment that words such as `12h` mean.
pub(crate) fn moment(words: Option<&str>, world: &World) -> Result<Option<Timestamp>, Failure> {
    let time = words.map(|words| since(words, &world.now)).transpose();
    time.map_err(|error| Failure::usage(error.to_string(), "such as --since 12h"))
}
