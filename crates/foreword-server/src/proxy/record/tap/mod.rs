//! Reads usage, ids and stop reason from a response while it is streamed. Parses only the relevant events or members
//! and buffers at most a few kilobytes.

mod answer_reader;
mod events;
mod members;

use foreword_core::message::Usage;
use foreword_core::money::Money;
use foreword_core::provider::WireDialect;

use self::answer_reader::AnswerReader;
use self::events::Events;
use self::members::Members;

/// The assumed number of bytes per token.
pub(crate) const BYTES_OF_TOKEN: u64 = 4;

/// Reads a streamed response.
#[derive(Debug)]
pub(crate) struct Tap {
    reader: AnswerReader,
    form: AnswerFormat,
    bytes: u64,
}

/// The format of a response.
#[derive(Debug)]
enum AnswerFormat {
    /// A stream was requested; an error may arrive as JSON instead.
    Unknown,
    Events(Events),
    Whole(Members),
}

/// The data extracted from a response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AnswerSummary {
    /// The reported usage.
    pub(crate) usage: Option<Usage>,
    /// The reported cost.
    pub(crate) cost: Option<Money>,
    /// The model that answered, as named by the provider.
    pub(crate) model: Option<String>,
    /// The provider's id of the response.
    pub(crate) answer_id: Option<String>,
    /// The stop reason, as reported.
    pub(crate) stop_reason: Option<String>,
    /// The provider's reason for a cache miss.
    pub(crate) miss: Option<String>,
    /// The error message, on one line.
    pub(crate) error: Option<String>,
    /// The provider's error type.
    pub(crate) error_type: Option<String>,
    /// The number of output tokens, estimated from the size.
    pub(crate) estimated_output: u64,
}

impl Tap {
    pub(crate) fn new(dialect: WireDialect, is_stream: bool) -> Self {
        let form = if is_stream { AnswerFormat::Unknown } else { AnswerFormat::Whole(Members::new(dialect)) };
        Self { reader: AnswerReader::new(dialect), form, bytes: 0 }
    }

    /// Reads the next chunk.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        if matches!(self.form, AnswerFormat::Unknown) {
            let Some(first) = piece.iter().find(|byte| !byte.is_ascii_whitespace()) else { return };
            self.form = match first {
                b'{' => AnswerFormat::Whole(Members::new(self.reader.dialect())),
                _ => AnswerFormat::Events(Events::default()),
            };
        }
        match &mut self.form {
            AnswerFormat::Unknown => {}
            AnswerFormat::Events(events) => events.feed(piece, &mut self.reader),
            AnswerFormat::Whole(members) => members.feed(piece, &mut self.reader),
        }
    }

    /// Ends the response.
    pub(crate) fn end(mut self) -> AnswerSummary {
        if let AnswerFormat::Events(events) = &mut self.form {
            events.end(&mut self.reader);
        }
        let estimated_output = match &self.form {
            AnswerFormat::Events(events) => events.estimated_output(),
            AnswerFormat::Unknown | AnswerFormat::Whole(_) => self.bytes.div_ceil(BYTES_OF_TOKEN),
        };
        AnswerSummary { estimated_output, ..self.reader.found() }
    }
}

#[cfg(test)]
mod tests;
