//! The agents in a chat: who answers, who else there is, and giving the conversation to them.

use std::sync::Arc;

use foreword_agent::hand_over::HandOver;
use foreword_workspace::snapshot::Snapshot;
use serde_json::json;

use super::session::Session;
use super::slash::ToAgent;
use crate::command;
use crate::failure::Failure;
use crate::output::{DIM, styled};

impl Session<'_> {
    /// The agent that answers; `None` where nobody has been named, or there is but one.
    pub(super) fn agent(&self) -> Option<Arc<str>> {
        let has_company = self.running.workspace.snapshot().config.roster.has_company();
        let found = || self.running.wait(self.running.store.conversation(&self.conversation)).ok().flatten();
        let of_conversation = has_company.then(found).flatten().map(|found| Arc::from(found.agent));
        of_conversation.or_else(|| self.wanted.clone())
    }

    /// The workspace as that agent sees it; as the first one does if it is gone.
    pub(super) fn view(&self) -> Arc<Snapshot> {
        let snapshot = self.running.workspace.snapshot();
        snapshot.of_agent(self.agent().as_deref()).unwrap_or(snapshot)
    }

    /// Refuses an agent that is not there before anything is said to it.
    pub(super) fn check_agent(&self) -> Result<(), Failure> {
        let snapshot = self.running.workspace.snapshot();
        snapshot.of_agent(self.wanted.as_deref())?;
        Ok(())
    }

    /// Lists the agents, or gives the conversation to one of them.
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
                self.output.say(&command::agents::table(&config));
                self.output.say(&styled(DIM, format!("`{}` answers here.", own.config.agent.name)));
                Ok(())
            }
        }
    }

    fn give_to(&mut self, ToAgent { name, reason }: ToAgent) -> Result<(), Failure> {
        let (running, to) = (self.running, Arc::<str>::from(name));
        running.workspace.snapshot().of_agent(Some(&to))?;
        if running.wait(running.store.conversation(&self.conversation))?.is_none() {
            // A name alone is not yet a conversation: it begins with that agent.
            self.wanted = Some(Arc::clone(&to));
            self.note(&styled(DIM, format!("`{}` will answer", self.view().config.agent.name)));
            return Ok(());
        }
        let wish = HandOver { to, by: self.occasion(), reason };
        let handed = running.wait(running.agent.hand_over(&self.conversation, wish))?;
        if self.output.wants_json() {
            return self.json_line(json!({ "type": "handed_over", "from": handed.from, "to": handed.to }));
        }
        self.note(&styled(DIM, format!("`{}` answers from the next message on", handed.to)));
        Ok(())
    }
}
