//! What a fake provider answers, in no dialect: words, calls of tools, refusals and faults. `wire` makes bytes of it.

use std::time::Duration;

use foreword_core::message::Usage;
use serde_json::Value;

/// One answer of a fake provider. The parts come one after the other; whatever else is said of it may be said in any
/// order.
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
    /// A refusal in the dialect's own form.
    Refusal(String),
    /// These bytes, whatever they are.
    Raw(Vec<u8>),
    /// The connection is held open and nothing is said.
    Silence,
    /// The connection is closed before anything is said.
    HangUp,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) parts: Vec<Part>,
    pub(crate) ending: Ending,
    pub(crate) stop: Option<String>,
    /// In one JSON, even if a stream was asked for.
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
    /// The connection is closed in the middle.
    Cut,
    /// Nothing more comes, and the connection stays open.
    Silence,
    /// The provider itself says inside the stream that it failed.
    Error { kind: String, message: String },
}

impl Reply {
    /// An answer in words; each is sent as a piece of its own.
    #[must_use]
    pub fn text(words: impl Into<String>) -> Self {
        Self::empty().and_text(words)
    }

    /// A call of a tool.
    #[must_use]
    pub fn tool_call(name: impl Into<String>, input: Value) -> Self {
        Self::raw_tool_call(name, input.to_string())
    }

    /// A call of a tool with arguments that may be no JSON at all.
    #[must_use]
    pub fn raw_tool_call(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self::empty().and_raw_tool_call(name, arguments)
    }

    /// An answer with nothing in it.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(200, Body::Answer(Answer::default()))
    }

    /// A refusal with this HTTP status, in the dialect's own form.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::of(status, Body::Refusal(format!("the script says {status}")))
    }

    /// A stream that breaks off behind these words: the connection is closed.
    #[must_use]
    pub fn cut_after(words: impl Into<String>) -> Self {
        Self::text(words).cut()
    }

    /// No answer, and a connection that stays open.
    #[must_use]
    pub fn silence() -> Self {
        Self::of(200, Body::Silence)
    }

    /// No answer, and a connection that is closed.
    #[must_use]
    pub fn hang_up() -> Self {
        Self::of(200, Body::HangUp)
    }

    /// Status 200, called an event stream, with this body.
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

    /// The same, with more words.
    #[must_use]
    pub fn and_text(self, words: impl Into<String>) -> Self {
        self.and(Part::Text(words.into()))
    }

    /// The same, with a call of a tool.
    #[must_use]
    pub fn and_tool_call(self, name: impl Into<String>, input: Value) -> Self {
        self.and_raw_tool_call(name, input.to_string())
    }

    /// The same, with a call of a tool whose arguments may be no JSON at all.
    #[must_use]
    pub fn and_raw_tool_call(self, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.and(Part::ToolCall { name: name.into(), arguments: arguments.into() })
    }

    /// The same, with thoughts: signed in Anthropic's dialect, `reasoning_content` in OpenAI's.
    #[must_use]
    pub fn and_thinking(self, text: impl Into<String>, signature: impl Into<String>) -> Self {
        self.and(Part::Thinking { text: text.into(), signature: signature.into() })
    }

    /// The same, with an event of any kind; OpenAI's dialect has no names, and sends its data alone.
    #[must_use]
    pub fn and_event(self, name: impl Into<String>, data: Value) -> Self {
        self.and(Part::Event { name: name.into(), data })
    }

    /// The same, broken off where it ends: the connection is closed.
    #[must_use]
    pub fn cut(self) -> Self {
        self.ending(Ending::Cut)
    }

    /// The same, but then nothing more comes, and the connection stays open.
    #[must_use]
    pub fn then_silence(self) -> Self {
        self.ending(Ending::Silence)
    }

    /// The same, ended by the provider's own word that it failed, such as `overloaded_error`.
    #[must_use]
    pub fn then_error(self, kind: impl Into<String>, message: impl Into<String>) -> Self {
        self.ending(Ending::Error { kind: kind.into(), message: message.into() })
    }

    /// The same, stopped for this reason, in the dialect's words. Otherwise it follows from the parts.
    #[must_use]
    pub fn stopped(mut self, reason: impl Into<String>) -> Self {
        if let Body::Answer(answer) = &mut self.body {
            answer.stop = Some(reason.into());
        }
        self
    }

    /// The same in one JSON, even if a stream was asked for.
    #[must_use]
    pub fn whole(mut self) -> Self {
        if let Body::Answer(answer) = &mut self.body {
            answer.whole = true;
        }
        self
    }

    /// The same, with this status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The same, with a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same refusal in these words.
    #[must_use]
    pub fn message(mut self, words: impl Into<String>) -> Self {
        self.body = Body::Refusal(words.into());
        self
    }

    /// The same, with this body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Body::Raw(body.into());
        self
    }

    /// The same, having taken this. Otherwise numbers that follow from the lengths.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// The same, begun only after this time.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.before = delay;
        self
    }

    /// The same, with a rest between any two pieces.
    #[must_use]
    pub fn paced(mut self, rest: Duration) -> Self {
        self.between = rest;
        self
    }

    /// The same, cut into pieces of this many bytes, wherever that falls.
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
