//! The actions of the demo's sample conversations: each makes the call that the command line or the server would make. Nothing writes
//! rows directly or backdates records.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use foreword_agent::agent::Receipt;
use foreword_agent::background::workflows::StartWorkflow;
use foreword_agent::conversation::create::ConversationSpec;
use foreword_agent::conversation::feed::Progress;
use foreword_agent::conversation::inbound::{Inbound, TurnOrigin};
use foreword_agent::prompt::stored_changes::{layer_changed, template_changed};
use foreword_core::id::{BadId, ConversationId};
use foreword_core::sender::SenderAddress;
use foreword_prompt::blueprint::Blueprint;
use foreword_store::layers::{LayerWrite, Updated, VersionWriter};
use foreword_store::mailboxes::NewInboxMessage;
use foreword_store::templates::NewTemplate;
use foreword_store::turns::Answer;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::output::progress::ProgressLine;
use crate::running_agent::RunningAgent;

/// The owner's user name.
pub(super) const OWNER: &str = "alice";
/// An upper bound on the batches of the inbox.
const MAX_BATCHES: usize = 8;

/// The running agent and the progress of the demo.
pub(super) struct Demo<'r> {
    running: &'r RunningAgent,
    meter: RefCell<ProgressLine>,
    done: Cell<u64>,
}

pub(super) struct DemoConversation<'h> {
    demo: &'h Demo<'h>,
    id: ConversationId,
    occasion: TurnOrigin,
}

impl<'r> Demo<'r> {
    pub(super) fn new(running: &'r RunningAgent) -> Self {
        Self { running, meter: RefCell::new(ProgressLine::new("creating sample data")), done: Cell::new(0) }
    }

    /// Creates a conversation with a title.
    pub(super) async fn start_conversation(
        &self,
        id: &str,
        title: &str,
        occasion: TurnOrigin,
    ) -> Result<DemoConversation<'_>, Failure> {
        let id = ConversationId::new(id).map_err(|error| bad_id(&error))?;
        let title = Some(title.to_owned());
        let spec = ConversationSpec {
            id: Some(id.clone()),
            origin: occasion.clone(),
            title,
            ..ConversationSpec::default()
        };
        Box::pin(self.running.agent.create_conversation(spec)).await?;
        Ok(DemoConversation { demo: self, id, occasion })
    }

    /// Stores the next version of the template, as the owner.
    pub(super) async fn template(&self, text: &str, message: &str) -> Result<(), Failure> {
        let message = Some(message.to_owned());
        let new = NewTemplate { message, ..NewTemplate::new(text, OWNER, self.running.now()) };
        self.running.record(template_changed(&self.running.store.add_template(new).await?));
        self.show_progress();
        Ok(())
    }

    /// Updates a layer of an agent, as the owner.
    pub(super) async fn layer(
        &self,
        agent: &str,
        id: &str,
        text: &str,
        message: &str,
    ) -> Result<(), Failure> {
        let blueprint = self.blueprint(agent)?;
        let updated = self.running.store.update_layer(&blueprint, id, text, self.by_owner(message)).await?;
        self.note(&blueprint, &updated);
        Ok(())
    }

    /// Rolls a layer of an agent back, as the owner.
    pub(super) async fn rollback(
        &self,
        agent: &str,
        id: &str,
        to: u64,
        message: &str,
    ) -> Result<(), Failure> {
        let blueprint = self.blueprint(agent)?;
        let updated = self.running.store.rollback_layer(&blueprint, id, to, self.by_owner(message)).await?;
        self.note(&blueprint, &updated);
        Ok(())
    }

    /// The current version of an agent's layer.
    pub(super) async fn layer_version(&self, agent: &str, id: &str) -> Result<u64, Failure> {
        let blueprint = self.blueprint(agent)?;
        let layer = self.running.store.layer(&blueprint.name, id).await?;
        Ok(layer.map_or(0, |layer| layer.current.version))
    }

    /// Stages a message in the inbox.
    pub(super) async fn stage_inbox_message(
        &self,
        id: &str,
        sender: &str,
        body: &str,
    ) -> Result<(), Failure> {
        let bad = |error: String| Failure::failed(error, "report this bug");
        let new = NewInboxMessage {
            id: id.parse().map_err(|error: BadId| bad_id(&error))?,
            sender: SenderAddress::new(sender).map_err(|error| bad(error.to_string()))?,
            body: body.to_owned(),
            at: self.running.now(),
        };
        self.running.agent.stage(new).await.map_err(|error| bad(error.to_string()))?;
        Ok(())
    }

    /// Answers the inbox batch by batch.
    pub(super) async fn answer_inbox(&self) -> Result<(), Failure> {
        for _ in 0..MAX_BATCHES {
            let Some(tick) = Box::pin(self.running.agent.begin_batch()).await? else { break };
            Box::pin(self.running.agent.end_tick(&tick)).await?;
            self.show_progress();
        }
        Ok(())
    }

    /// Fires a schedule. It may fail on purpose.
    pub(super) async fn fire(&self, schedule: &str) -> Result<(), Failure> {
        Box::pin(self.running.agent.fire_now(schedule)).await?;
        self.show_progress();
        Ok(())
    }

    /// Runs a workflow to its end.
    pub(super) async fn run_workflow(
        &self,
        name: &str,
        parameter: &str,
        value: &str,
        occasion: TurnOrigin,
    ) -> Result<(), Failure> {
        let parameters = Map::from_iter([(parameter.to_owned(), Value::from(value))]);
        let start = StartWorkflow { parameters, ..StartWorkflow::new(name, occasion) };
        Box::pin(self.running.agent.run_workflow(start)).await?;
        self.show_progress();
        Ok(())
    }

    fn by_owner(&self, message: &str) -> LayerWrite {
        let writer = VersionWriter::Owner(OWNER.to_owned());
        LayerWrite { message: Some(message.to_owned()), ..LayerWrite::new(writer, self.running.now()) }
    }

    fn blueprint(&self, agent: &str) -> Result<Arc<Blueprint>, Failure> {
        Ok(Arc::clone(&self.running.workspace.snapshot().of_agent(Some(agent))?.config.blueprint))
    }

    fn note(&self, blueprint: &Blueprint, updated: &Updated) {
        self.running.record(layer_changed(&blueprint.name, &updated.version));
        self.show_progress();
    }

    fn show_progress(&self) {
        self.done.set(self.done.get() + 1);
        self.meter.borrow_mut().show(self.done.get(), None);
    }
}

impl DemoConversation<'_> {
    /// Sends a message as the conversation's user and waits for the answer. The turn may fail on purpose.
    pub(super) async fn say(&self, text: &str) -> Result<Answer, Failure> {
        self.say_as(self.occasion.clone(), text).await
    }

    /// Like `say`, but on another occasion, such as another user or model.
    pub(super) async fn say_as(&self, occasion: TurnOrigin, text: &str) -> Result<Answer, Failure> {
        let answer = Box::pin(self.demo.running.agent.ask(self.inbound(occasion, text))).await?;
        self.demo.show_progress();
        Ok(answer)
    }

    /// Sends a message and stops the answer once it has started.
    pub(super) async fn interrupt(&self, text: &str) -> Result<(), Failure> {
        let agent = &self.demo.running.agent;
        let receipt = Box::pin(agent.send(self.inbound(self.occasion.clone(), text))).await?;
        first_text(&receipt).await;
        agent.cancel(&self.id);
        agent.answer_to(&receipt).await?;
        self.demo.show_progress();
        Ok(())
    }

    pub(super) async fn compact(&self) -> Result<(), Failure> {
        Box::pin(self.demo.running.agent.compact(&self.id, self.occasion.clone())).await?;
        self.demo.show_progress();
        Ok(())
    }

    fn inbound(&self, occasion: TurnOrigin, text: &str) -> Inbound {
        Inbound { conversation: self.id.clone(), origin: occasion, text: text.to_owned(), key: None }
    }
}

/// Waits until an answer has started or ended.
async fn first_text(receipt: &Receipt) {
    let mut from = receipt.from;
    loop {
        let batch = receipt.feed.read(from).await;
        from = batch.next;
        let begun = |progress: &Arc<Progress>| {
            matches!(**progress, Progress::Text(_) | Progress::TurnEnded { .. } | Progress::TurnLeft { .. })
        };
        if batch.items.iter().any(begun) {
            return;
        }
    }
}

fn bad_id(error: &BadId) -> Failure {
    Failure::failed(error.to_string(), "report this bug")
}
