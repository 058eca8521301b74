//! The actions of schedules: send a prompt or the heartbeat, run a workflow, tick, compact.

use foreword_core::id::{BadId, ConversationId, RunId};
use foreword_core::schedule::FiringEnd;
use foreword_core::timestamp::Timestamp;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_prompt::file_rules::FileRequirement;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use foreword_store::messages::IdempotencyKey;
use foreword_store::schedules::{Firing, FiringLinks};
use foreword_store::turns::Answer;
use foreword_workspace::config::Schedule;
use foreword_workspace::config::schedules::{HEARTBEAT_FILE, ScheduleAction};
use foreword_workspace::path_trust::Access;
use foreword_workspace::speaker::Speaker;
use serde_json::{Map, Value};

use super::{conversation, heartbeat};
use crate::agent::Agent;
use crate::background::inbox::TickOutcome;
use crate::background::workflows::{StartWorkflow, conversation_of};
use crate::conversation::inbound::{Attendance, Inbound, SYSTEM, TurnOrigin};
use crate::conversation::settings;
use crate::conversation::wait_for_answer::PendingMessage;
use crate::error::AgentError;

/// The result of a firing's action.
pub(super) struct ActionResult {
    pub(super) end: FiringEnd,
    pub(super) links: FiringLinks,
    /// The output of a workflow or of an autonomous turn. A prompt's answer is in the schedule's conversation instead.
    pub(super) output: Option<String>,
}

impl ActionResult {
    fn without_links(end: FiringEnd) -> Self {
        Self { end, links: FiringLinks::default(), output: None }
    }

    fn failed(error: impl Into<String>) -> Self {
        Self::without_links(FiringEnd::Failed { error: error.into() })
    }
}

/// Whether an earlier attempt may have started this firing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    First,
    /// The node of the first attempt is gone.
    Again,
}

/// Performs the schedule's action.
pub(super) async fn perform(
    agent: &Agent,
    schedule: &Schedule,
    firing: &Firing,
    attempt: Attempt,
) -> Result<ActionResult, AgentError> {
    let message = ScheduledMessage { agent, schedule, firing, attempt };
    match &schedule.action {
        ScheduleAction::Prompt(text) => message.send(text).await,
        ScheduleAction::Heartbeat => send_heartbeat(&message).await,
        ScheduleAction::Workflow { name, parameters } => {
            workflow(agent, schedule, name, parameters, firing.due_at).await
        }
        ScheduleAction::Tick => tick(agent, attempt).await,
        ScheduleAction::Compact => compact(agent).await,
    }
}

/// A message from a schedule to the agent.
struct ScheduledMessage<'a> {
    agent: &'a Agent,
    schedule: &'a Schedule,
    firing: &'a Firing,
    attempt: Attempt,
}

impl ScheduledMessage<'_> {
    async fn send(&self, text: &str) -> Result<ActionResult, AgentError> {
        // The schedule's text may have changed since; the message that was sent counts.
        let message = match self.sent_before().await? {
            Some(message) => message,
            None => self.send_now(text).await?,
        };
        let answer = self.agent.answer_to(message.clone()).await?;
        let links = FiringLinks {
            conversation: Some(message.conversation),
            message: Some(message.id),
            ..FiringLinks::default()
        };
        let end = match end_of(&answer) {
            FiringEnd::Done { .. } => {
                FiringEnd::Done { note: conversation::blocked(self.agent, &answer.turn.id).await? }
            }
            other => other,
        };
        Ok(ActionResult { end, links, output: None })
    }

    async fn send_now(&self, text: &str) -> Result<PendingMessage, AgentError> {
        let inbound = Inbound {
            conversation: self.conversation().await?,
            origin: occasion(self.schedule),
            text: text.to_owned(),
            key: Some(self.key()),
        };
        let settings = settings::configured(&self.schedule.settings);
        if !settings.is_empty() {
            self.agent.set_settings(&inbound.conversation, &inbound.origin, settings.into()).await?;
        }
        Ok(PendingMessage::from(&self.agent.send(inbound).await?))
    }

    /// The conversation for the message: the one the firing already links to, or a newly chosen one.
    async fn conversation(&self) -> Result<ConversationId, AgentError> {
        if let Some(chosen) = &self.firing.links.conversation {
            return Ok(chosen.clone());
        }
        let chosen = conversation::choose(self.agent, self.schedule, self.firing.due_at).await?;
        Ok(chosen.map_or_else(|| conversation::first(&self.schedule.name), Ok)?)
    }

    /// The message that an earlier attempt sent.
    async fn sent_before(&self) -> Result<Option<PendingMessage>, AgentError> {
        if self.attempt == Attempt::First {
            return Ok(None);
        }
        let sent = self.agent.shared().store.message_of(self.key()).await?;
        Ok(sent.map(|(conversation, id)| {
            let feed = self.agent.feed(&conversation);
            PendingMessage { id, conversation, before: true, from: feed.next(), feed }
        }))
    }

    /// One key for each due time, so that a second attempt sends no second message.
    fn key(&self) -> IdempotencyKey {
        let key = format!("{}@{}", self.schedule.name, self.firing.due_at);
        IdempotencyKey { scope: "schedule".to_owned(), key }
    }
}

pub(super) fn occasion(schedule: &Schedule) -> TurnOrigin {
    TurnOrigin {
        speaker: Speaker {
            user: Some(schedule.user.clone()),
            channel: Some(Channel::new(&format!("schedule:{}", schedule.name))),
            situation: Some(SYSTEM.into()),
            agent: schedule.agent.clone(),
            model: schedule.model.clone(),
            ..Speaker::default()
        },
        attendance: Attendance::Unattended,
        ..TurnOrigin::default()
    }
}

fn end_of(answer: &Answer) -> FiringEnd {
    let failure = answer.turn.failure.as_ref();
    let why = |otherwise: &str| failure.map_or(otherwise, |failure| failure.detail.for_record()).to_owned();
    match answer.turn.state {
        TurnState::Ended(Outcome::Done) => FiringEnd::Done { note: None },
        TurnState::Ended(Outcome::Cancelled) => FiringEnd::Failed { error: why("stopped by a user") },
        TurnState::Ended(Outcome::Failed) => FiringEnd::Failed { error: why("the turn failed") },
        TurnState::Interrupted | TurnState::Running => {
            FiringEnd::Failed { error: why("the turn was interrupted and could not be resumed") }
        }
    }
}

/// Sends the text of HEARTBEAT.md, if the schedule's user may read that file.
async fn send_heartbeat(message: &ScheduledMessage<'_>) -> Result<ActionResult, AgentError> {
    let snapshot = message.agent.shared().workspace.snapshot();
    let config = &snapshot.config;
    // The rules of all agents apply: the strictest one decides.
    let needed = snapshot.required_trust(HEARTBEAT_FILE, Some(&message.schedule.user), Access::Text);
    let trust = config.trust(config.user(&message.schedule.user), SYSTEM).effective();
    if !needed.permits(trust, Trust::Full) {
        let least = match needed {
            FileRequirement::Trust(least) => least,
            FileRequirement::NoRule | FileRequirement::Never => Trust::Full,
        };
        return Ok(ActionResult::failed(format!(
            "{HEARTBEAT_FILE} requires trust `{least}`, but `{}` has `{trust}` here: set another `user`",
            message.schedule.user
        )));
    }
    let skipped = |note: &str| ActionResult::without_links(FiringEnd::Skipped { note: note.to_owned() });
    // The snapshot caches file contents; a heartbeat is rare and reads the current file.
    let files = snapshot.files();
    match files.cache.read(&files.root, HEARTBEAT_FILE) {
        Ok(file) if heartbeat::has_instructions(&file.text) => message.send(&file.text).await,
        Ok(_) => Ok(skipped("HEARTBEAT.md contains no instructions")),
        Err(error) if error.is_missing_file() => Ok(skipped("there is no HEARTBEAT.md")),
        Err(error) => Ok(ActionResult::failed(error.to_string())),
    }
}

/// Runs a workflow. The run id consists of the schedule and the due time, so that a second attempt joins the same run.
async fn workflow(
    agent: &Agent,
    schedule: &Schedule,
    name: &str,
    parameters: &Map<String, Value>,
    due_at: Timestamp,
) -> Result<ActionResult, AgentError> {
    let run = run_id(&schedule.name, due_at)?;
    let links = FiringLinks {
        conversation: Some(conversation_of(&run)?),
        run: Some(run.clone()),
        ..FiringLinks::default()
    };
    let start = StartWorkflow {
        parameters: parameters.clone(),
        settings: settings::configured(&schedule.settings),
        run: Some(run),
        ..StartWorkflow::new(name, occasion(schedule))
    };
    let ended = agent.run_workflow(start).await?;
    let output = Some(ended.output).filter(|output| !output.is_empty());
    let end = match ended.outcome {
        Outcome::Done => FiringEnd::Done { note: None },
        _ => FiringEnd::Failed {
            error: ended
                .error
                .map_or_else(|| "the run was stopped".to_owned(), |why| why.for_record().clone()),
        },
    };
    Ok(ActionResult { end, links, output })
}

/// The id of a scheduled workflow run.
pub(super) fn run_id(schedule: &str, due_at: Timestamp) -> Result<RunId, BadId> {
    RunId::new(format!("run-{schedule}@{due_at}"))
}

/// Runs one tick: answers a batch of the inbox, or runs an autonomous turn.
async fn tick(agent: &Agent, attempt: Attempt) -> Result<ActionResult, AgentError> {
    if attempt == Attempt::Again {
        // Turn recovery resumes the interrupted turn; a second tick would run one turn too many.
        return Ok(ActionResult::failed(
            "interrupted; its turn is resumed, and the next tick runs as scheduled",
        ));
    }
    let ticked = agent.tick().await?;
    let (conversation, error, output, note) = match &ticked {
        TickOutcome::Inbox { conversation, error, messages, replies, unanswered, .. } => {
            let dealt_with = messages.len().saturating_sub(unanswered.len());
            let note = format!("messages handled: {dealt_with}, replies: {}", replies.len());
            (conversation.clone(), error.clone(), None, note)
        }
        TickOutcome::Alone { conversation, error, text, .. } => {
            let output = Some(text.clone()).filter(|text| !text.is_empty());
            (conversation.clone(), error.clone(), output, "autonomous turn".to_owned())
        }
        TickOutcome::Busy => {
            let note = "the previous turn is still running".to_owned();
            return Ok(ActionResult::without_links(FiringEnd::Skipped { note }));
        }
    };
    let end = match error {
        _ if ticked.succeeded() => FiringEnd::Done { note: Some(note) },
        error => FiringEnd::Failed { error: error.unwrap_or_else(|| "the turn failed".to_owned()) },
    };
    let links = FiringLinks { conversation: Some(conversation), ..FiringLinks::default() };
    Ok(ActionResult { end, links, output })
}

/// Compacts long conversations. A failure is reported in the result and does not stop the others.
async fn compact(agent: &Agent) -> Result<ActionResult, AgentError> {
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
        [] => FiringEnd::Done { note: Some(format!("{} compacted", all.len())) },
        failed => FiringEnd::Failed { error: failed.join("; ") },
    };
    Ok(ActionResult::without_links(end))
}
