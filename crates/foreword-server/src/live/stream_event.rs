//! Events of a conversation, as clients get them.

use std::sync::Arc;

use foreword_agent::conversation::feed::Progress;
use foreword_core::id::{CallId, MessageId, TurnId};
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_core::turn_journal::{Outcome, TurnState};
use foreword_prompt::trust::Trust;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The maximum size of a tool's result or arguments in an event. The messages have all of it.
const MAX_CONTENT_BYTES: usize = 16 * 1024;
/// Replaces the reason of an interrupted turn for readers below the owner, since it may name files.
const TURN_LEFT: &str = "The turn was interrupted. No message is lost: the turn will be resumed.";

/// An event of a conversation. On the wire it also has `sessionId` and `seq`; see `document`.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum StreamEvent {
    /// A turn starts.
    #[serde(rename_all = "camelCase")]
    TurnStart {
        #[schema(value_type = String)]
        turn_id: TurnId,
        /// The messages it answers.
        #[schema(value_type = Vec<String>)]
        messages: Vec<MessageId>,
        /// The user it runs for; `null` for an unknown one.
        #[schema(value_type = Option<String>)]
        user: Option<Arc<str>>,
        /// The turn was interrupted and continues now. Discard its text since its last `tool_result`: it is sent again.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        resumed: bool,
    },
    /// More text of the answer.
    #[serde(rename_all = "camelCase")]
    TextDelta {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        text: String,
    },
    /// The model calls a tool.
    #[serde(rename_all = "camelCase")]
    ToolCall {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        #[schema(value_type = String)]
        call_id: CallId,
        tool: String,
        /// Empty if they exceed 16 KB.
        arguments: Value,
        /// Whether something was left out.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    /// A tool call has ended.
    #[serde(rename_all = "camelCase")]
    ToolResult {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        #[schema(value_type = String)]
        call_id: CallId,
        tool: String,
        /// The first 16 KB.
        content: String,
        is_error: bool,
        /// Whether something was left out.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    /// Progress of the turn, such as a retry.
    #[serde(rename_all = "camelCase")]
    Status {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        /// A sentence, such as `Rate limited. Retrying in 3s...`.
        message: String,
    },
    /// The owner is asked whether a tool may run.
    #[serde(rename_all = "camelCase")]
    Question {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        #[schema(value_type = String)]
        call_id: CallId,
        tool: String,
        #[schema(value_type = Object)]
        arguments: Value,
        /// Why: the untrusted content that the turn has read.
        because: String,
    },
    /// The turn failed or was interrupted.
    #[serde(rename_all = "camelCase")]
    Error {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        /// The category of the error. A turn with `turn_left` is resumed later, one with `turn_interrupted` is not.
        kind: String,
        message: String,
    },
    /// The turn has ended.
    #[serde(rename_all = "camelCase")]
    TurnEnd {
        #[schema(value_type = String)]
        turn_id: TurnId,
        outcome: TurnOutcome,
        usage: TurnUsage,
        /// In US dollars; `null` if the model's price is unknown.
        #[schema(value_type = Option<f64>)]
        cost: Price,
        /// The node that ran the turn died before it reported the end: the last text and the usage are in the conversation
        /// and not in the stream.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        incomplete: bool,
    },
    /// The history was compacted.
    #[serde(rename_all = "camelCase")]
    SessionCompacted {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
    },
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnOutcome {
    Done,
    Failed,
    Cancelled,
    Interrupted,
}

impl From<TurnState> for TurnOutcome {
    fn from(state: TurnState) -> Self {
        match state {
            TurnState::Ended(Outcome::Done) => Self::Done,
            TurnState::Ended(Outcome::Failed) => Self::Failed,
            TurnState::Ended(Outcome::Cancelled) => Self::Cancelled,
            // Running turns have no `turn_end`.
            TurnState::Interrupted | TurnState::Running => Self::Interrupted,
        }
    }
}

/// Tokens of all model calls of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TurnUsage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl From<Usage> for TurnUsage {
    fn from(usage: Usage) -> Self {
        let Usage { input, output, cache_read, cache_write, .. } = usage;
        Self { input, output, cache_read, cache_write }
    }
}

/// The current turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CurrentTurn {
    pub(super) turn: Option<TurnId>,
    /// The trust of the current or last turn. The owner's if unknown.
    pub(super) trust: Trust,
}

impl Default for CurrentTurn {
    fn default() -> Self {
        Self { turn: None, trust: Trust::Full }
    }
}

/// An event without a number, and its trust.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UnnumberedEvent {
    pub(super) trust: Trust,
    pub(super) event: StreamEvent,
}

impl CurrentTurn {
    /// The events for a progress report of the agent.
    pub(super) fn events_for(&mut self, progress: &Progress) -> Vec<UnnumberedEvent> {
        self.enter(progress);
        let (turn_id, trust) = (self.turn.clone(), self.trust);
        let one = |event| vec![UnnumberedEvent { trust, event }];
        match progress {
            Progress::TurnStarted { turn, messages, user, resumed, .. } => one(StreamEvent::TurnStart {
                turn_id: turn.clone(),
                messages: messages.clone(),
                user: user.clone(),
                resumed: *resumed,
            }),
            Progress::Text(text) => one(StreamEvent::TextDelta { turn_id, text: text.clone() }),
            Progress::ToolCall { call, tool, arguments } => one(tool_call(turn_id, call, tool, arguments)),
            Progress::ToolResult { call, tool, content, is_error } => {
                let (content, truncated) = truncate(content);
                let (call_id, tool, is_error) = (call.clone(), tool.clone(), *is_error);
                one(StreamEvent::ToolResult { turn_id, call_id, tool, content, is_error, truncated })
            }
            // A status outside of a turn may contain anything, so it is for the owner.
            Progress::Status(text) => {
                let trust = if turn_id.is_some() { trust } else { Trust::Full };
                vec![UnnumberedEvent { trust, event: StreamEvent::Status { turn_id, message: text.clone() } }]
            }
            Progress::Problem(cause) => {
                let event = StreamEvent::Status { turn_id, message: cause.for_record().clone() };
                vec![UnnumberedEvent { trust: Trust::Full, event }]
            }
            Progress::Question(question) => one(StreamEvent::Question {
                turn_id,
                call_id: question.call.clone(),
                tool: question.tool.clone(),
                arguments: Value::Object(question.arguments.clone()),
                because: question.because.clone(),
            }),
            Progress::Compacted => one(StreamEvent::SessionCompacted { turn_id }),
            Progress::TurnLeft { .. } | Progress::TurnInterrupted { .. } | Progress::TurnEnded { .. } => {
                self.end_turn(progress)
            }
        }
    }

    fn enter(&mut self, progress: &Progress) {
        match progress {
            Progress::TurnStarted { turn, trust, .. } | Progress::TurnInterrupted { turn, trust, .. } => {
                *self = Self { turn: Some(turn.clone()), trust: *trust };
            }
            _ => {}
        }
    }

    fn end_turn(&mut self, progress: &Progress) -> Vec<UnnumberedEvent> {
        self.turn = None;
        let mut events = Vec::new();
        let trust = self.trust;
        let push = |events: &mut Vec<UnnumberedEvent>, event| events.push(UnnumberedEvent { trust, event });
        let error = |turn: &TurnId, kind: &str, message: &str| StreamEvent::Error {
            turn_id: Some(turn.clone()),
            kind: kind.to_owned(),
            message: message.to_owned(),
        };
        match progress {
            Progress::TurnLeft { turn, reason } => {
                let (public, cause) = (TURN_LEFT, reason.for_record());
                let item = |message: &str| error(turn, "turn_left", message);
                events.extend(failure_events(trust, item(public), item(cause)));
            }
            Progress::TurnInterrupted { turn, reason, .. } => {
                push(&mut events, error(turn, "turn_interrupted", reason));
                let (usage, cost) = (Usage::default().into(), Price::Unknown);
                let outcome = TurnOutcome::Interrupted;
                let turn_id = turn.clone();
                push(&mut events, StreamEvent::TurnEnd { turn_id, outcome, usage, cost, incomplete: false });
            }
            Progress::TurnEnded { turn, outcome, failure, usage, cost } => {
                if let Some(failure) = failure {
                    let public = failure.visible_at(Trust::Public, turn.as_str()).message;
                    let item = |message: &str| error(turn, failure.code.as_str(), message);
                    events.extend(failure_events(trust, item(&public), item(failure.detail.for_record())));
                }
                let (turn_id, outcome) = (turn.clone(), TurnState::Ended(*outcome).into());
                let (usage, cost) = ((*usage).into(), *cost);
                push(&mut events, StreamEvent::TurnEnd { turn_id, outcome, usage, cost, incomplete: false });
            }
            _ => {}
        }
        events
    }
}

/// The events of a failure. Readers of a conversation differ in trust, so the cause is an event of its own for the
/// owner.
fn failure_events(trust: Trust, public: StreamEvent, cause: StreamEvent) -> Vec<UnnumberedEvent> {
    let cause = UnnumberedEvent { trust: Trust::Full, event: cause };
    if trust.permits(Trust::Full) {
        return vec![cause];
    }
    vec![UnnumberedEvent { trust, event: public }, cause]
}

fn tool_call(turn_id: Option<TurnId>, call: &CallId, tool: &str, arguments: &Value) -> StreamEvent {
    let truncated = arguments.to_string().len() > MAX_CONTENT_BYTES;
    let arguments = if truncated { Value::Object(serde_json::Map::new()) } else { arguments.clone() };
    StreamEvent::ToolCall { turn_id, call_id: call.clone(), tool: tool.to_owned(), arguments, truncated }
}

fn truncate(content: &str) -> (String, bool) {
    let end = content.floor_char_boundary(MAX_CONTENT_BYTES);
    (content.get(..end).unwrap_or_default().to_owned(), end < content.len())
}
