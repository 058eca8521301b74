//! The answers of a fake provider, independent of the dialect: text, tool calls, error responses and faults. `wire`
//! encodes them.

use std::time::Duration;

use foreword_core::message::Usage;
use serde_json::Value;

/// One answer of a fake provider. The order of its parts matters; the other settings can be given in any order.
///
/// ```
/// use std::time::Duration;
/// use foreword_testkit::Reply;
/// use serde_json::json;
///
/// Reply::text("Let me look.").and_tool_call("memory_search", json!({ "query": "birthday" }));
/// Reply::status(429).header("retry-after", "3").message("slow down");
/// Reply::text("a word at a time").paced(Duration::from_millis(20));
/// Reply::cut_after("three words so");
/// ```
#[derive(Debug, Clone)]
pub struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
    pub(crate) usage: Option<Usage>,
    pub(crate) before: Duration,
    pub(crate) between: Duration,
    pub(crate) piece: Option<usize>,
}

#[derive(Debug, Clone)]
pub(crate) enum Body {
    Answer(Answer),
    /// An error response in the dialect's format.
    Refusal(String),
    /// A raw body.
    Raw(Vec<u8>),
    /// Keeps the connection open and sends nothing.
    Silence,
    /// Closes the connection without an answer.
    HangUp,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) parts: Vec<Part>,
    pub(crate) ending: Ending,
    pub(crate) stop: Option<String>,
    /// As one JSON body, even if the request asks for a stream.
    pub(crate) whole: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Part {
    Text(String),
    Thinking { text: String, signature: String },
    ToolCall { name: String, arguments: String },
    Event { name: String, data: Value },
}

#[derive(Debug, Clone, Default)]
pub(crate) enum Ending {
    #[default]
    Complete,
    /// Closes the connection in the middle of the answer.
    Cut,
    /// Sends nothing more and keeps the connection open.
    Silence,
    /// Sends an error event in the stream.
    Error { kind: String, message: String },
}

impl Reply {
    /// A text answer; each word is sent as a delta of its own.
    #[must_use]
    pub fn text(words: impl Into<String>) -> Self {
        Self::empty().and_text(words)
    }

    /// A tool call.
    #[must_use]
    pub fn tool_call(name: impl Into<String>, input: Value) -> Self {
        Self::raw_tool_call(name, input.to_string())
    }

    /// A tool call whose arguments need not be valid JSON.
    #[must_use]
    pub fn raw_tool_call(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self::empty().and_raw_tool_call(name, arguments)
    }

    /// An answer without content.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(200, Body::Answer(Answer::default()))
    }

    /// An error response with this HTTP status, in the dialect's format.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::of(status, Body::Refusal(format!("the script says {status}")))
    }

    /// A stream that ends after this text: the connection is closed.
    #[must_use]
    pub fn cut_after(words: impl Into<String>) -> Self {
        Self::text(words).cut()
    }

    /// No answer; the connection stays open.
    #[must_use]
    pub fn silence() -> Self {
        Self::of(200, Body::Silence)
    }

    /// No answer; the connection is closed.
    #[must_use]
    pub fn hang_up() -> Self {
        Self::of(200, Body::HangUp)
    }

    /// Status 200 with the content type of an event stream and this body.
    #[must_use]
    pub fn raw(body: impl Into<Vec<u8>>) -> Self {
        Self::of(200, Body::Raw(body.into()))
    }

    fn of(status: u16, body: Body) -> Self {
        let (usage, piece) = (None, None);
        Self {
            status,
            headers: Vec::new(),
            body,
            usage,
            before: Duration::ZERO,
            between: Duration::ZERO,
            piece,
        }
    }

    /// Adds text.
    #[must_use]
    pub fn and_text(self, words: impl Into<String>) -> Self {
        self.and(Part::Text(words.into()))
    }

    /// Adds a tool call.
    #[must_use]
    pub fn and_tool_call(self, name: impl Into<String>, input: Value) -> Self {
        self.and_raw_tool_call(name, input.to_string())
    }

    /// Adds a tool call whose arguments need not be valid JSON.
    #[must_use]
    pub fn and_raw_tool_call(self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.and(Part::ToolCall { name: name.into(), arguments: arguments.into() })
    }

    /// Adds reasoning: a signed thinking block in Anthropic's dialect, `reasoning_content` in OpenAI's.
    #[must_use]
    pub fn and_thinking(self, text: impl Into<String>, signature: impl Into<String>) -> Self {
        self.and(Part::Thinking { text: text.into(), signature: signature.into() })
    }

    /// Adds an arbitrary event; OpenAI's dialect has no event names and sends only the data.
    #[must_use]
    pub fn and_event(self, name: impl Into<String>, data: Value) -> Self {
        self.and(Part::Event { name: name.into(), data })
    }

    /// Closes the connection after the parts.
    #[must_use]
    pub fn cut(self) -> Self {
        self.ending(Ending::Cut)
    }

    /// Sends nothing more after the parts and keeps the connection open.
    #[must_use]
    pub fn then_silence(self) -> Self {
        self.ending(Ending::Silence)
    }

    /// Ends the stream with an error event, such as `overloaded_error`.
    #[must_use]
    pub fn then_error(self, kind: impl Into<String>, message: impl Into<String>) -> Self {
        self.ending(Ending::Error { kind: kind.into(), message: message.into() })
    }

    /// Sets the stop reason, in the dialect's wording. By default it follows from the parts.
    #[must_use]
    pub fn stopped(mut self, reason: impl Into<String>) -> Self {
        if let Body::Answer(answer) = &mut self.body {
            answer.stop = Some(reason.into());
        }
        self
    }

    /// Sends one JSON body, even if the request asks for a stream.
    #[must_use]
    pub fn whole(mut self) -> Self {
        if let Body::Answer(answer) = &mut self.body {
            answer.whole = true;
        }
        self
    }

    /// Sets the status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the message of an error response.
    #[must_use]
    pub fn message(mut self, words: impl Into<String>) -> Self {
        self.body = Body::Refusal(words.into());
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Body::Raw(body.into());
        self
    }

    /// Sets the usage. By default it follows from the lengths of the texts.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Delays the answer.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.before = delay;
        self
    }

    /// Waits between chunks.
    #[must_use]
    pub fn paced(mut self, rest: Duration) -> Self {
        self.between = rest;
        self
    }

    /// Splits the body into chunks of this size.
    #[must_use]
    pub fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.piece = Some(bytes.max(1));
        self
    }

    fn and(mut self, part: Part) -> Self {
        if let Body::Answer(answer) = &mut self.body {
            answer.parts.push(part);
        }
        self
    }

    fn ending(mut self, ending: Ending) -> Self {
        if let Body::Answer(answer) = &mut self.body {
            answer.ending = ending;
        }
        self
    }
}
