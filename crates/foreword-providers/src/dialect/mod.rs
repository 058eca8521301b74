//! What providers speak, as pure codecs: a request becomes bytes, bytes become the pieces of an answer. What we send is
//! typed; of what we are sent, an unknown event, field, block or reason to stop is never an error. Knows no network.

pub mod anthropic;
mod call_ids;
mod framing;
mod json_length;
mod odd_values;
pub mod openai_chat;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod samples;

use foreword_core::model::{ErrorKind, ModelEvent, ModelRequest};
use foreword_core::provider::WireDialect;

use framing::{Frame, Framing, Rest};

/// Something wrong with an answer. Its words may be the provider's own: they are on one line and short, but nobody has
/// looked for secrets in them yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What sort of failure it is.
    pub kind: ErrorKind,
    /// What is wrong, or what the provider said.
    pub message: String,
}

impl Fault {
    fn broken(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::BrokenStream, message: message.into() }
    }
}

/// What a piece of bytes gives.
pub type Decoded = Vec<Result<ModelEvent, Fault>>;

/// Reads an answer, however it is cut into pieces. Nothing comes after [`ModelEvent::Stopped`] or a fault.
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
    framing: Framing,
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
        Self { framing: Framing::default(), answer, ended: false }
    }

    /// What more bytes give.
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

    /// What the end of the bytes gives. An answer that the provider has not called complete is broken, unless all that
    /// is missing is the last word of the dialect.
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

    /// Whether nothing more comes.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether the provider has said why it stopped, so that nothing that matters can still come.
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

    /// An answer in one JSON: the server does not stream.
    fn read_whole(&mut self, bytes: &[u8], out: &mut Decoded) {
        let Ok(value) = serde_json::from_slice(bytes) else {
            return out.push(Err(Fault::broken("the answer is cut-off or broken JSON")));
        };
        match &mut self.answer {
            Answer::Anthropic(answer) => answer.read_whole(&value, out),
            Answer::OpenAi(answer) => answer.read_whole(&value, out),
        }
    }

    /// Forgets what stands behind the end.
    fn settle(&mut self, mut out: Decoded) -> Decoded {
        let last = out.iter().position(|event| matches!(event, Err(_) | Ok(ModelEvent::Stopped(_))));
        if let Some(last) = last {
            out.truncate(last + 1);
            self.ended = true;
        }
        out
    }
}
