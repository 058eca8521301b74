//! The wire dialects as pure codecs: they encode requests into bytes and decode bytes into model events. Requests are
//! typed. In responses, unknown events, fields, blocks and stop reasons are never errors. No network access.

pub mod anthropic;
mod call_ids;
mod frame_decoder;
mod json_length;
pub mod openai_chat;
mod sanitize;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod samples;

use foreword_core::model::{ErrorKind, ModelEvent, ModelRequest};
use foreword_core::provider::WireDialect;

use frame_decoder::{Frame, FrameDecoder, Rest};

/// An invalid or failed answer. The message may contain the provider's own text: one short line, not yet checked for
/// secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DecodeError {
    /// The error category.
    pub kind: ErrorKind,
    /// Our description, or the provider's message.
    pub message: String,
}

impl DecodeError {
    fn broken(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::BrokenStream, message: message.into() }
    }
}

/// The decoded events and errors of one chunk.
pub type Decoded = Vec<Result<ModelEvent, DecodeError>>;

/// An incremental decoder for one answer, independent of how the bytes are split. No item follows
/// [`ModelEvent::Stopped`] or an error.
///
/// ```
/// use foreword_core::model::{CachePlan, ModelEvent, ModelRequest, StopReason};
/// use foreword_core::provider::WireDialect;
/// use foreword_providers::dialect::Decoder;
///
/// let request = ModelRequest {
///     model: "local/qwen3".parse().unwrap(),
///     tools: [].into(),
///     system: vec![],
///     messages: vec![],
///     max_output: None,
///     cache: CachePlan::NONE,
/// };
/// let mut decoder = Decoder::new(WireDialect::OpenAi, &request);
/// let mut events = decoder.push(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hel");
/// assert!(events.is_empty());
/// events.extend(decoder.push(b"lo\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"));
/// assert_eq!(events, [
///     Ok(ModelEvent::Text("Hello".to_owned())),
///     Ok(ModelEvent::Stopped(StopReason::EndTurn)),
/// ]);
/// ```
#[derive(Debug)]
pub struct Decoder {
    framing: FrameDecoder,
    answer: Answer,
    ended: bool,
}

#[derive(Debug)]
enum Answer {
    Anthropic(anthropic::Answer),
    OpenAi(openai_chat::Answer),
}

impl Decoder {
    /// A decoder for the answer to `request`.
    #[must_use]
    pub fn new(dialect: WireDialect, request: &ModelRequest) -> Self {
        let ids = call_ids::CallIds::new(request);
        let answer = match dialect {
            WireDialect::Anthropic => Answer::Anthropic(anthropic::Answer::new(ids)),
            WireDialect::OpenAi => Answer::OpenAi(openai_chat::Answer::new(ids)),
        };
        Self { framing: FrameDecoder::default(), answer, ended: false }
    }

    /// Decodes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Decoded {
        let mut out = Vec::new();
        if self.ended {
            return out;
        }
        let (frames, fault) = self.framing.push(bytes);
        for frame in &frames {
            self.read(frame, &mut out);
        }
        out.extend(fault.map(Err));
        self.settle(out)
    }

    /// Ends the body. An answer without a stop reason is a broken stream; a missing end marker of the dialect is
    /// accepted.
    pub fn finish(&mut self) -> Decoded {
        let mut out = Vec::new();
        if self.ended {
            return out;
        }
        match self.framing.finish() {
            Rest::Nothing => {}
            Rest::Event(frame) => self.read(&frame, &mut out),
            Rest::Whole(bytes) => self.read_whole(&bytes, &mut out),
        }
        match &mut self.answer {
            Answer::Anthropic(answer) => answer.end(&mut out),
            Answer::OpenAi(answer) => answer.end(&mut out),
        }
        self.settle(out)
    }

    /// Whether decoding has ended: no further items follow.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the provider has sent the stop reason, so that no content can follow.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        match &self.answer {
            Answer::Anthropic(answer) => answer.is_complete(),
            Answer::OpenAi(answer) => answer.is_complete(),
        }
    }

    fn read(&mut self, frame: &Frame, out: &mut Decoded) {
        match &mut self.answer {
            Answer::Anthropic(answer) => answer.read(frame, out),
            Answer::OpenAi(answer) => answer.read(frame, out),
        }
    }

    /// Decodes a JSON body from a server that does not stream.
    fn read_whole(&mut self, bytes: &[u8], out: &mut Decoded) {
        let Ok(value) = serde_json::from_slice(bytes) else {
            return out.push(Err(DecodeError::broken("the answer is cut-off or broken JSON")));
        };
        match &mut self.answer {
            Answer::Anthropic(answer) => answer.read_whole(&value, out),
            Answer::OpenAi(answer) => answer.read_whole(&value, out),
        }
    }

    /// Drops all items after the end.
    fn settle(&mut self, mut out: Decoded) -> Decoded {
        let last = out.iter().position(|event| matches!(event, Err(_) | Ok(ModelEvent::Stopped(_))));
        if let Some(last) = last {
            out.truncate(last + 1);
            self.ended = true;
        }
        out
    }
}
