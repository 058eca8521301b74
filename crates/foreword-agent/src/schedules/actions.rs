//! What a firing does: a function for each thing a schedule can ask for.

use std::time::Duration;

use foreword_core::id::{BadId, ConversationId, MessageId, RunId};
use foreword_core::schedule::Ended;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_prompt::file_rules::Needed;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use foreword_store::messages::IdempotencyKey;
use foreword_store::schedules::{Firing, FiringPlace};
use foreword_store::turns::Answer;
use foreword_workspace::config::Schedule;
use foreword_workspace::config::schedules::{Action, HEARTBEAT_FILE};
use foreword_workspace::path_trust::Access;
use serde_json::{Map, Value};

use super::{conversation, heartbeat};
use crate::agent::Agent;
use crate::conversation_settings;
use crate::error::AgentError;
use crate::inbound::{Inbound, Occasion, SYSTEM, Watched};
use crate::inbox::Ticked;
use crate::workflows::{StartWorkflow, conversation_of};

/// How soon to look again whether a message that was posted before is answered.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// What a firing came to.
pub(super) struct Performed {
    pub(super) end: Ended,
    pub(super) place: FiringPlace,
    /// What it gave that is in no conversation of the schedule's own.
    pub(super) output: Option<String>,
}

impl Performed {
    fn nowhere(end: Ended) -> Self {
        Self { end, place: FiringPlace::default(), output: None }
    }

    fn failed(error: impl Into<String>) -> Self {
        Self::nowhere(Ended::Failed { error: error.into() })
    }
}

/// Whether a firing may have been begun before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    First,
    /// Its node is gone.
    Again,
}

/// Does what the schedule says.
pub(super) async fn perform(
    agent: &Agent,
    schedule: &Schedule,
    firing: &Firing,
    attempt: Attempt,
) -> Result<Performed, AgentError> {
    let speech = Speech { agent, schedule, firing, attempt };
    match &schedule.action {
        Action::Prompt(text) => speech.say(text).await,
        Action::Heartbeat => say_heartbeat(&speech).await,
        Action::Workflow { name, parameters } => {
            workflow(agent, schedule, (name, parameters), firing.due_at).await
        }
        Action::Tick => tick(agent, attempt).await,
        Action::Compact => compact(agent).await,
    }
}

/// Something a schedule says to the agent.
struct Speech<'a> {
    agent: &'a Agent,
    schedule: &'a Schedule,
    firing: &'a Firing,
    attempt: Attempt,
}

impl Speech<'_> {
    async fn say(&self, text: &str) -> Result<Performed, AgentError> {
        let (conversation, message, answer) = match self.said_before().await? {
            Some((conversation, message)) => {
                // What it was told may have changed since: what was said counts.
                self.agent.recover_conversation(&conversation).await?;
                let answer = self.wait_for(&message).await?;
                (conversation, message, answer)
            }
            None => {
                let conversation = self.conversation().await?;
                let inbound = Inbound {
                    conversation: conversation.clone(),
                    occasion: occasion(self.schedule),
                    text: text.to_owned(),
                    key: Some(self.key()),
                };
                let settings = conversation_settings::configured(&self.schedule.settings);
                if !settings.is_empty() {
                    self.agent.set_settings(&conversation, &inbound.occasion, settings.into()).await?;
                }
                let receipt = self.agent.send(inbound).await?;
                let answer = self.agent.answer_to(&receipt).await?;
                (conversation, receipt.message.message.id.clone(), answer)
            }
        };
        let place = FiringPlace {
            conversation: Some(conversation),
            message: Some(message),
            ..FiringPlace::default()
        };
        let end = match end_of(&answer) {
            Ended::Done { .. } => {
                Ended::Done { note: conversation::blocked(self.agent, &answer.turn.id).await? }
            }
            other => other,
        };
        Ok(Performed { end, place, output: None })
    }

    /// Where to say it: somebody may have been told already where that is.
    async fn conversation(&self) -> Result<ConversationId, AgentError> {
        if let Some(chosen) = &self.firing.place.conversation {
            return Ok(chosen.clone());
        }
        let chosen = conversation::choose(self.agent, self.schedule, self.firing.due_at).await?;
        Ok(chosen.map_or_else(|| conversation::first(&self.schedule.name), Ok)?)
    }

    /// The message of this firing and where it is, if whoever had it before came so far.
    async fn said_before(&self) -> Result<Option<(ConversationId, MessageId)>, AgentError> {
        match self.attempt {
            Attempt::First => Ok(None),
            Attempt::Again => Ok(self.agent.shared().store.message_of(self.key()).await?),
        }
    }

    async fn wait_for(&self, message: &MessageId) -> Result<Answer, AgentError> {
        loop {
            let answer = self.agent.shared().store.answer_to(message).await?;
            if let Some(answer) = answer.filter(|answer| answer.turn.ended_at.is_some()) {
                return Ok(answer);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// One for each time it is due: whoever says it again is understood.
    fn key(&self) -> IdempotencyKey {
        let key = format!("{}@{}", self.schedule.name, self.firing.due_at);
        IdempotencyKey { scope: "schedule".to_owned(), key }
    }
}

pub(super) fn occasion(schedule: &Schedule) -> Occasion {
    Occasion {
        user: Some(schedule.user.clone()),
        channel: Some(Channel::new(&format!("schedule:{}", schedule.name))),
        situation: Some(SYSTEM.into()),
        agent: schedule.agent.clone(),
        model: schedule.model.clone(),
        watched: Watched::ByNobody,
        ..Occasion::default()
    }
}

fn end_of(answer: &Answer) -> Ended {
    let failure = answer.turn.failure.as_ref();
    let why = |otherwise: &str| failure.map_or(otherwise, |failure| failure.detail.for_record()).to_owned();
    match answer.turn.state {
        TurnState::Ended(Outcome::Done) => Ended::Done { note: None },
        TurnState::Ended(Outcome::Cancelled) => Ended::Failed { error: why("somebody stopped it") },
        TurnState::Ended(Outcome::Failed) => Ended::Failed { error: why("the turn failed") },
        TurnState::Interrupted | TurnState::Running => {
            Ended::Failed { error: why("the turn was cut off and could not be gone on with") }
        }
    }
}

/// Says what HEARTBEAT.md says. It is for whoever may read that file.
async fn say_heartbeat(speech: &Speech<'_>) -> Result<Performed, AgentError> {
    let snapshot = speech.agent.shared().workspace.snapshot();
    let config = &snapshot.config;
    // By the rules of all agents: what one of them keeps closed, another does not open.
    let needed = snapshot.needed(HEARTBEAT_FILE, Some(&speech.schedule.user), Access::Text);
    let trust = config.trust(config.user(&speech.schedule.user), SYSTEM).effective();
    if !needed.permits(trust, Trust::Full) {
        let least = match needed {
            Needed::Trust(least) => least,
            Needed::Unruled | Needed::Nobody => Trust::Full,
        };
        return Ok(Performed::failed(format!(
            "{HEARTBEAT_FILE} is for `{least}`, and `{}` is trusted `{trust}` here: name another `user`",
            speech.schedule.user
        )));
    }
    let skipped = |note: &str| Performed::nowhere(Ended::Skipped { note: note.to_owned() });
    // The snapshot remembers what it has read; a heartbeat comes seldom and wants what is there now.
    let files = snapshot.files();
    match files.cache.read(&files.root, HEARTBEAT_FILE) {
        Ok(file) if heartbeat::says_anything(&file.text) => speech.say(&file.text).await,
        Ok(_) => Ok(skipped("HEARTBEAT.md asks for nothing")),
        Err(error) if error.is_missing_file() => Ok(skipped("there is no HEARTBEAT.md")),
        Err(error) => Ok(Performed::failed(error.to_string())),
    }
}

/// Runs a workflow, under a name made of the schedule and when it was due: begun again elsewhere, it is the same run.
async fn workflow(
    agent: &Agent,
    schedule: &Schedule,
    (name, parameters): (&str, &Map<String, Value>),
    due_at: Timestamp,
) -> Result<Performed, AgentError> {
    let run = run_id(&schedule.name, due_at)?;
    let place = FiringPlace {
        conversation: Some(conversation_of(&run)?),
        run: Some(run.clone()),
        ..FiringPlace::default()
    };
    let start = StartWorkflow {
        parameters: parameters.clone(),
        settings: conversation_settings::configured(&schedule.settings),
        run: Some(run),
        ..StartWorkflow::new(name, occasion(schedule))
    };
    let ended = agent.run_workflow(start).await?;
    let output = Some(ended.output).filter(|output| !output.is_empty());
    let end = match ended.outcome {
        Outcome::Done => Ended::Done { note: None },
        _ => Ended::Failed {
            error: ended
                .error
                .map_or_else(|| "the run was stopped".to_owned(), |why| why.for_record().clone()),
        },
    };
    Ok(Performed { end, place, output })
}

/// The name of the run of a workflow.
pub(super) fn run_id(schedule: &str, due_at: Timestamp) -> Result<RunId, BadId> {
    RunId::new(format!("run-{schedule}@{due_at}"))
}

/// Answers the inbox, or gives the agent time of its own.
async fn tick(agent: &Agent, attempt: Attempt) -> Result<Performed, AgentError> {
    if attempt == Attempt::Again {
        // A second turn of its own for one tick would be one too many; whatever was begun is gone on with as a turn.
        return Ok(Performed::failed(
            "it was cut off; what it had begun is gone on with, and the next tick comes",
        ));
    }
    let ticked = agent.tick().await?;
    let (conversation, error, output, note) = match &ticked {
        Ticked::Inbox { conversation, error, messages, replies, unanswered, .. } => {
            let dealt_with = messages.len().saturating_sub(unanswered.len());
            let note = format!("messages dealt with: {dealt_with}, answers: {}", replies.len());
            (conversation.clone(), error.clone(), None, note)
        }
        Ticked::Alone { conversation, error, text, .. } => {
            let output = Some(text.clone()).filter(|text| !text.is_empty());
            (conversation.clone(), error.clone(), output, "a turn of the agent's own".to_owned())
        }
        Ticked::Busy => {
            let note = "the turn before is still under way".to_owned();
            return Ok(Performed::nowhere(Ended::Skipped { note }));
        }
    };
    let end = match error {
        _ if ticked.is_well() => Ended::Done { note: Some(note) },
        error => Ended::Failed { error: error.unwrap_or_else(|| "the turn failed".to_owned()) },
    };
    let place = FiringPlace { conversation: Some(conversation), ..FiringPlace::default() };
    Ok(Performed { end, place, output })
}

/// Summarises conversations that have grown long. One that can't be summarised is named; the others are not held up.
async fn compact(agent: &Agent) -> Result<Performed, AgentError> {
    let all = agent.compact_long().await?;
    let failed: Vec<String> = all
        .iter()
        .filter_map(|one| {
            one.outcome
                .as_ref()
                .err()
                .map(|error| format!("`{}`: {}", one.conversation, error.cause().for_record()))
        })
        .collect();
    let end = match failed.as_slice() {
        [] => Ended::Done { note: Some(format!("{} made shorter", all.len())) },
        failed => Ended::Failed { error: failed.join("; ") },
    };
    Ok(Performed::nowhere(end))
}
