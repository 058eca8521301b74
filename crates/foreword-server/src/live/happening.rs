//! What happens in a conversation, as clients get it.

use std::sync::Arc;

use foreword_agent::feed::Progress;
use foreword_core::id::{CallId, MessageId, TurnId};
use foreword_core::message::Usage;
use foreword_core::money::Price;
use foreword_core::turn_journal::TurnState;
use foreword_prompt::trust::Trust;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The most of a tool's result, or of what it is called with, that is shown, in bytes. The whole is in the messages.
const SHOWN: usize = 16 * 1024;
/// What others than the owner read of a turn that could not go on: the reason may name files and places.
const TURN_LEFT: &str = "The turn can't go on here now. What was said is not lost: it is taken up again.";

/// Something that happens in a conversation. On the wire each has `sessionId` and `seq` besides: its number in the
/// conversation, from 1 and the same on every node. Numbers that are left out belong to what this reader may not see.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Happening {
    /// A turn has begun.
    TurnStart {
        #[schema(value_type = String)]
        turn_id: TurnId,
        /// The messages it answers.
        #[schema(value_type = Vec<String>)]
        messages: Vec<MessageId>,
        /// For whom, if it is somebody known.
        #[schema(value_type = Option<String>)]
        user: Option<Arc<str>>,
        /// It was cut off before and goes on now: what it said since its last tool has ended counts no longer, and is said
        /// anew.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        resumed: bool,
    },
    /// More words of the answer.
    TextDelta {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        text: String,
    },
    /// A tool is called.
    ToolCall {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        #[schema(value_type = String)]
        call_id: CallId,
        tool: String,
        /// Empty where they are too large to be shown.
        arguments: Value,
        /// Whether something was left out.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    /// A tool has ended.
    ToolResult {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        #[schema(value_type = String)]
        call_id: CallId,
        tool: String,
        /// The beginning of it, where it is long.
        content: String,
        is_error: bool,
        /// Whether something was left out.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
    },
    /// How it goes, such as `Rate limited. Retrying in 3s...`.
    Status {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        text: String,
    },
    /// The owner is asked whether a tool may be run.
    Question {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        #[schema(value_type = String)]
        call_id: CallId,
        tool: String,
        arguments: Value,
        /// What the turn has read.
        because: String,
    },
    /// Something went wrong.
    Error {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
        /// What sort of error; `turn_left` is a turn that is taken up again, `turn_interrupted` one that is not.
        kind: String,
        message: String,
    },
    /// The turn is over.
    TurnEnd {
        #[schema(value_type = String)]
        turn_id: TurnId,
        /// `done`, `failed`, `cancelled` or `interrupted`.
        outcome: &'static str,
        usage: TurnUsage,
        /// In US dollars; none if the model's price is not known.
        #[schema(value_type = Option<f64>)]
        cost: Price,
        /// The node that ran it died before it could say so: what was said last, and what it took, is in the conversation
        /// and not in the stream.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        incomplete: bool,
    },
    /// The history was made shorter.
    SessionCompacted {
        #[schema(value_type = Option<String>)]
        turn_id: Option<TurnId>,
    },
}

/// What all calls of a turn took, in tokens.
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

/// The turn that things happen in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Within {
    pub(super) turn: Option<TurnId>,
    /// That of the turn, or of the last one. Where nobody knows it, it is the owner's.
    pub(super) trust: Trust,
}

impl Default for Within {
    fn default() -> Self {
        Self { turn: None, trust: Trust::Full }
    }
}

/// Something that happens, and who may see it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    pub(super) trust: Trust,
    pub(super) what: Happening,
}

impl Within {
    /// What clients are told of something the agent tells.
    pub(super) fn told(&mut self, progress: &Progress) -> Vec<Draft> {
        self.enter(progress);
        let (turn_id, trust) = (self.turn.clone(), self.trust);
        let one = |what| vec![Draft { trust, what }];
        match progress {
            Progress::TurnStarted { turn, messages, user, resumed, .. } => one(Happening::TurnStart {
                turn_id: turn.clone(),
                messages: messages.clone(),
                user: user.clone(),
                resumed: *resumed,
            }),
            Progress::Text(text) => one(Happening::TextDelta { turn_id, text: text.clone() }),
            Progress::ToolCall { call, tool, arguments } => one(tool_call(turn_id, (call, tool), arguments)),
            Progress::ToolResult { call, tool, content, is_error } => {
                let (content, truncated) = shortened(content);
                let (call_id, tool, is_error) = (call.clone(), tool.clone(), *is_error);
                one(Happening::ToolResult { turn_id, call_id, tool, content, is_error, truncated })
            }
            // What is said outside of a turn may be about anything: it is for the owner.
            Progress::Status(text) => {
                let trust = if turn_id.is_some() { trust } else { Trust::Full };
                vec![Draft { trust, what: Happening::Status { turn_id, text: text.clone() } }]
            }
            Progress::Problem(cause) => {
                let what = Happening::Status { turn_id, text: cause.for_record().clone() };
                vec![Draft { trust: Trust::Full, what }]
            }
            Progress::Question(question) => one(Happening::Question {
                turn_id,
                call_id: question.call.clone(),
                tool: question.tool.clone(),
                arguments: Value::Object(question.arguments.clone()),
                because: question.because.clone(),
            }),
            Progress::Compacted => one(Happening::SessionCompacted { turn_id }),
            Progress::TurnLeft { .. } | Progress::TurnInterrupted { .. } | Progress::TurnEnded { .. } => {
                self.left(progress)
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

    fn left(&mut self, progress: &Progress) -> Vec<Draft> {
        self.turn = None;
        let mut drafts = Vec::new();
        let trust = self.trust;
        let tell = |drafts: &mut Vec<Draft>, what| drafts.push(Draft { trust, what });
        let error = |turn: &TurnId, kind: &str, message: &str| Happening::Error {
            turn_id: Some(turn.clone()),
            kind: kind.to_owned(),
            message: message.to_owned(),
        };
        match progress {
            Progress::TurnLeft { turn, reason } => {
                let (public, cause) = (TURN_LEFT, reason.for_record());
                let item = |message: &str| error(turn, "turn_left", message);
                drafts.extend(failed(trust, item(public), item(cause)));
            }
            Progress::TurnInterrupted { turn, reason, .. } => {
                tell(&mut drafts, error(turn, "turn_interrupted", reason));
                let (usage, cost) = (Usage::default().into(), Price::Unknown);
                let outcome = TurnState::Interrupted.as_str();
                let turn_id = turn.clone();
                tell(&mut drafts, Happening::TurnEnd { turn_id, outcome, usage, cost, incomplete: false });
            }
            Progress::TurnEnded { turn, outcome, failure, usage, cost } => {
                if let Some(failure) = failure {
                    let public = failure.shown_at(Trust::Public, turn.as_str()).message;
                    let item = |message: &str| error(turn, failure.code.as_str(), message);
                    drafts.extend(failed(trust, item(&public), item(failure.detail.for_record())));
                }
                let (turn_id, outcome) = (turn.clone(), TurnState::Ended(*outcome).as_str());
                let (usage, cost) = ((*usage).into(), *cost);
                tell(&mut drafts, Happening::TurnEnd { turn_id, outcome, usage, cost, incomplete: false });
            }
            _ => {}
        }
        drafts
    }
}

/// What is put on record of a failure. Readers of one conversation differ in trust, so the cause is an item of its own
/// that only the owner reads.
fn failed(trust: Trust, public: Happening, cause: Happening) -> Vec<Draft> {
    let cause = Draft { trust: Trust::Full, what: cause };
    if trust.permits(Trust::Full) {
        return vec![cause];
    }
    vec![Draft { trust, what: public }, cause]
}

fn tool_call(turn_id: Option<TurnId>, (call, tool): (&CallId, &str), arguments: &Value) -> Happening {
    let truncated = arguments.to_string().len() > SHOWN;
    let arguments = if truncated { Value::Object(serde_json::Map::new()) } else { arguments.clone() };
    Happening::ToolCall { turn_id, call_id: call.clone(), tool: tool.to_owned(), arguments, truncated }
}

fn shortened(content: &str) -> (String, bool) {
    let end = content.floor_char_boundary(SHOWN);
    (content.get(..end).unwrap_or_default().to_owned(), end < content.len())
}
