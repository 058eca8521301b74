//! Resolves who views events, traces and costs, from the arguments of the command line.

use std::sync::Arc;

use foreword_agent::reports::viewer::Viewer;
use foreword_core::id::ConversationId;
use foreword_core::since::since;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::trust::Trust;
use foreword_store::store::Store;
use foreword_workspace::workspace::Workspace;

use crate::cli::observe::ViewerArgs;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::{request, unknown_name_warnings};
use crate::output::Output;
use crate::process_context::ProcessContext;
use crate::workspace_store::now;

/// The identity whose view is shown.
#[derive(Debug)]
pub(crate) struct ViewerIdentity {
    pub(crate) trust: Trust,
    user: Option<Arc<str>>,
    conversation: Option<ConversationId>,
}

impl ViewerIdentity {
    pub(crate) fn of(
        args: &ViewerArgs,
        workspace: &Workspace,
        process: &ProcessContext,
        output: &Output,
    ) -> Result<Self, Failure> {
        let conversation = args.conversation.as_deref().map(ConversationId::new).transpose();
        let conversation = conversation
            .map_err(|error| Failure::usage(error.to_string(), "name one that `foreword status` lists"))?;
        let snapshot = workspace.snapshot();
        let who = request(&args.occasion(), workspace, process)?.principal(&snapshot.config);
        for warning in
            unknown_name_warnings(args.as_user.as_deref(), args.situation.as_deref(), &snapshot.config)
        {
            output.warn(&warning);
        }
        Names { user: args.as_user.as_deref(), channel: args.at_channel.as_deref(), ..Names::default() }
            .warn(&snapshot.config, output);
        let user = who.user.map(|user| Arc::clone(&user.name));
        Ok(Self { trust: who.trust.effective(), user, conversation })
    }

    pub(crate) fn viewer(&self, store: &Store, process: &ProcessContext) -> Viewer {
        Viewer {
            store: store.clone(),
            trust: self.trust,
            user: self.user.clone(),
            conversation: self.conversation.clone(),
            turn: None,
            now: now(process),
            zone: process.now.time_zone().clone(),
        }
    }
}

/// Parses a point in time such as `12h`.
pub(crate) fn moment(words: Option<&str>, process: &ProcessContext) -> Result<Option<Timestamp>, Failure> {
    let time = words.map(|words| since(words, &process.now)).transpose();
    time.map_err(|error| Failure::usage(error.to_string(), "such as --since 12h"))
}
