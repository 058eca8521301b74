//! What the scenes of the demo are played with: for each thing that people do, the call that the command line or the server
//! makes for it. Nothing here writes a row by itself, and nothing is dated back.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use foreword_agent::agent::Receipt;
use foreword_agent::beginning::Beginning;
use foreword_agent::feed::Progress;
use foreword_agent::inbound::{Inbound, Occasion};
use foreword_agent::stored_changes::{layer_changed, template_changed};
use foreword_agent::workflows::StartWorkflow;
use foreword_core::id::{BadId, ConversationId};
use foreword_core::sender::SenderAddress;
use foreword_prompt::blueprint::Blueprint;
use foreword_store::layers::{LayerWrite, Updated, Writer};
use foreword_store::mailboxes::NewInboxMessage;
use foreword_store::templates::NewTemplate;
use foreword_store::turns::Answer;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::output::progress::Meter;
use crate::running::Running;

/// Who owns the house.
pub(super) const OWNER: &str = "alice";
/// How many batches the inbox may take: no more than that wait.
const BATCHES: usize = 8;

/// The agent at work, and how far its story has come.
pub(super) struct House<'r> {
    running: &'r Running,
    meter: RefCell<Meter>,
    done: Cell<u64>,
}

/// A conversation of the story.
pub(super) struct Talk<'h> {
    house: &'h House<'h>,
    id: ConversationId,
    occasion: Occasion,
}

impl<'r> House<'r> {
    pub(super) fn new(running: &'r Running) -> Self {
        Self {
            running,
            meter: RefCell::new(Meter::new("making the history of the house")),
            done: Cell::new(0),
        }
    }

    /// Begins a conversation, with a name for people.
    pub(super) async fn talk(&self, id: &str, title: &str, occasion: Occasion) -> Result<Talk<'_>, Failure> {
        let id = ConversationId::new(id).map_err(|error| bad_id(&error))?;
        let title = Some(title.to_owned());
        let beginning =
            Beginning { id: Some(id.clone()), occasion: occasion.clone(), title, ..Beginning::default() };
        Box::pin(self.running.agent.begin_conversation(beginning)).await?;
        Ok(Talk { house: self, id, occasion })
    }

    /// Stores the next version of the template, as the owner.
    pub(super) async fn template(&self, text: &str, message: &str) -> Result<(), Failure> {
        let message = Some(message.to_owned());
        let new = NewTemplate { message, ..NewTemplate::new(text, OWNER, self.running.now()) };
        self.running.record(template_changed(&self.running.store.add_template(new).await?));
        self.one_more();
        Ok(())
    }

    /// Gives a layer of an agent another text, as the owner.
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

    /// Gives a layer of an agent an earlier text again, as the owner.
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

    /// The version a layer of an agent is at.
    pub(super) async fn layer_version(&self, agent: &str, id: &str) -> Result<u64, Failure> {
        let blueprint = self.blueprint(agent)?;
        let layer = self.running.store.layer(&blueprint.name, id).await?;
        Ok(layer.map_or(0, |layer| layer.current.version))
    }

    /// Leaves a message in the inbox.
    pub(super) async fn leave(&self, id: &str, sender: &str, body: &str) -> Result<(), Failure> {
        let bad = |error: String| Failure::failed(error, "report this");
        let new = NewInboxMessage {
            id: id.parse().map_err(|error: BadId| bad_id(&error))?,
            sender: SenderAddress::new(sender).map_err(|error| bad(error.to_string()))?,
            body: body.to_owned(),
            at: self.running.now(),
        };
        self.running.agent.stage(new).await.map_err(|error| bad(error.to_string()))?;
        Ok(())
    }

    /// Answers what was left in the inbox, batch by batch.
    pub(super) async fn answer_inbox(&self) -> Result<(), Failure> {
        for _ in 0..BATCHES {
            let Some(tick) = Box::pin(self.running.agent.begin_batch()).await? else { break };
            Box::pin(self.running.agent.end_tick(&tick)).await?;
            self.one_more();
        }
        Ok(())
    }

    /// Fires a schedule. That it fails may be part of the story.
    pub(super) async fn fire(&self, schedule: &str) -> Result<(), Failure> {
        Box::pin(self.running.agent.fire_now(schedule)).await?;
        self.one_more();
        Ok(())
    }

    /// Runs a workflow to its end.
    pub(super) async fn run_workflow(
        &self,
        name: &str,
        (parameter, value): (&str, &str),
        occasion: Occasion,
    ) -> Result<(), Failure> {
        let parameters = Map::from_iter([(parameter.to_owned(), Value::from(value))]);
        let start = StartWorkflow { parameters, ..StartWorkflow::new(name, occasion) };
        Box::pin(self.running.agent.run_workflow(start)).await?;
        self.one_more();
        Ok(())
    }

    fn by_owner(&self, message: &str) -> LayerWrite {
        let writer = Writer::Owner(OWNER.to_owned());
        LayerWrite { message: Some(message.to_owned()), ..LayerWrite::new(writer, self.running.now()) }
    }

    fn blueprint(&self, agent: &str) -> Result<Arc<Blueprint>, Failure> {
        Ok(Arc::clone(&self.running.workspace.snapshot().of_agent(Some(agent))?.config.blueprint))
    }

    fn note(&self, blueprint: &Blueprint, updated: &Updated) {
        self.running.record(layer_changed(&blueprint.name, &updated.version));
        self.one_more();
    }

    fn one_more(&self) {
        self.done.set(self.done.get() + 1);
        self.meter.borrow_mut().show(self.done.get(), None);
    }
}

impl Talk<'_> {
    /// Says something as whoever the conversation is with, and waits for what comes of it. That it fails may be part of the
    /// story.
    pub(super) async fn say(&self, text: &str) -> Result<Answer, Failure> {
        self.say_as(self.occasion.clone(), text).await
    }

    /// The same on another occasion: somebody else speaks, or another model answers.
    pub(super) async fn say_as(&self, occasion: Occasion, text: &str) -> Result<Answer, Failure> {
        let answer = Box::pin(self.house.running.agent.ask(self.inbound(occasion, text))).await?;
        self.house.one_more();
        Ok(answer)
    }

    /// Says something, and stops the answer once it has begun.
    pub(super) async fn interrupt(&self, text: &str) -> Result<(), Failure> {
        let agent = &self.house.running.agent;
        let receipt = Box::pin(agent.send(self.inbound(self.occasion.clone(), text))).await?;
        first_words(&receipt).await;
        agent.cancel(&self.id);
        agent.answer_to(&receipt).await?;
        self.house.one_more();
        Ok(())
    }

    /// Replaces what was said by its summary.
    pub(super) async fn compact(&self) -> Result<(), Failure> {
        Box::pin(self.house.running.agent.compact(&self.id, self.occasion.clone())).await?;
        self.house.one_more();
        Ok(())
    }

    fn inbound(&self, occasion: Occasion, text: &str) -> Inbound {
        Inbound { conversation: self.id.clone(), occasion, text: text.to_owned(), key: None }
    }
}

/// Waits until an answer has begun, or is over.
async fn first_words(receipt: &Receipt) {
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
    Failure::failed(error.to_string(), "report this")
}
