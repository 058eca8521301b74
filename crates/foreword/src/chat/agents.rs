//! The agents in a chat: who answers, `/agent`, and handing the conversation over.

use std::sync::Arc;

use foreword_agent::conversation::hand_over::RequestedHandOver;
use foreword_workspace::snapshot::Snapshot;
use serde_json::json;

use super::session::Session;
use super::slash::ToAgent;
use crate::command;
use crate::failure::Failure;
use crate::output::{DIM, styled};

impl Session<'_> {
    /// The agent that answers; `None` if there is only one, or none was named.
    pub(super) fn agent(&self) -> Option<Arc<str>> {
        let has_several = self.running.workspace.snapshot().config.roster.has_several();
        let found = || self.running.wait(self.running.store.conversation(&self.conversation)).ok().flatten();
        let of_conversation = has_several.then(found).flatten().map(|found| Arc::from(found.agent));
        of_conversation.or_else(|| self.requested_agent.clone())
    }

    /// The workspace as that agent sees it; as the first agent does if it no longer exists.
    pub(super) fn view(&self) -> Arc<Snapshot> {
        let snapshot = self.running.workspace.snapshot();
        snapshot.of_agent(self.agent().as_deref()).unwrap_or(snapshot)
    }

    /// Rejects an unknown agent before a message is sent.
    pub(super) fn check_agent(&self) -> Result<(), Failure> {
        let snapshot = self.running.workspace.snapshot();
        snapshot.of_agent(self.requested_agent.as_deref())?;
        Ok(())
    }

    /// Lists the agents, or hands the conversation to one of them.
    pub(super) fn agents(&mut self, to: Option<ToAgent>) -> Result<(), Failure> {
        match to {
            Some(to) => self.give_to(to),
            None => {
                let (config, own) = (Arc::clone(&self.running.workspace.snapshot().config), self.view());
                if self.output.wants_json() {
                    let agents = command::agents::listed(&config);
                    return self.json_line(
                        json!({ "type": "agents", "agents": agents, "agent": own.config.agent.name }),
                    );
                }
                self.output.print_stderr(&command::agents::table(&config));
                self.output.print_stderr(&styled(
                    DIM,
                    format!("`{}` answers in this conversation.", own.config.agent.name),
                ));
                Ok(())
            }
        }
    }

    fn give_to(&mut self, ToAgent { name, reason }: ToAgent) -> Result<(), Failure> {
        let (running, to) = (self.running, Arc::<str>::from(name));
        running.workspace.snapshot().of_agent(Some(&to))?;
        if running.wait(running.store.conversation(&self.conversation))?.is_none() {
            // The conversation does not exist yet: it starts with that agent.
            self.requested_agent = Some(Arc::clone(&to));
            self.note(&styled(DIM, format!("`{}` will answer", self.view().config.agent.name)));
            return Ok(());
        }
        let wish = RequestedHandOver { to, by: self.occasion(), reason };
        let handed = running.wait(running.agent.hand_over(&self.conversation, wish))?;
        if self.output.wants_json() {
            return self.json_line(json!({ "type": "handed_over", "from": handed.from, "to": handed.to }));
        }
        self.note(&styled(DIM, format!("`{}` answers the next message", handed.to)));
        Ok(())
    }
}
