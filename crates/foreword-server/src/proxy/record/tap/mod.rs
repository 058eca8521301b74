//! Looks at an answer as it passes: what it took, what it is called, how it ended. Of a stream only the few events are read
//! that say so, of a whole answer only the members; whatever an answer is, no more than a few kilobytes of it are held.

mod events;
mod members;
mod reading;

use foreword_core::message::Usage;
use foreword_core::money::Money;
use foreword_core::provider::WireDialect;

use self::events::Events;
use self::members::Members;
use self::reading::Reading;

/// How many bytes make a token.
pub(crate) const BYTES_OF_TOKEN: u64 = 4;

/// Looks at an answer as it passes.
#[derive(Debug)]
pub(crate) struct Tap {
    reading: Reading,
    form: Form,
    bytes: u64,
}

/// What an answer looks like.
#[derive(Debug)]
enum Form {
    /// A stream was asked for; what comes instead may be an error as JSON.
    NotKnownYet,
    Events(Events),
    Whole(Members),
}

/// What was seen in an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tapped {
    /// What the provider says it took.
    pub(crate) usage: Option<Usage>,
    /// What the provider itself says it charges.
    pub(crate) cost: Option<Money>,
    /// The model that answered, by the provider's name for it.
    pub(crate) model: Option<String>,
    /// The provider's name for the answer.
    pub(crate) answer_id: Option<String>,
    /// Why it ended, in the provider's words.
    pub(crate) stop_reason: Option<String>,
    /// Why the provider itself says its cache was not read.
    pub(crate) miss: Option<String>,
    /// What went wrong, in the provider's words, on one line.
    pub(crate) error: Option<String>,
    /// What it calls that.
    pub(crate) error_type: Option<String>,
    /// About how many tokens were written, by how long the answer was.
    pub(crate) about_written: u64,
}

impl Tap {
    pub(crate) fn new(dialect: WireDialect, is_stream: bool) -> Self {
        let form = if is_stream { Form::NotKnownYet } else { Form::Whole(Members::new(dialect)) };
        Self { reading: Reading::new(dialect), form, bytes: 0 }
    }

    /// The next piece of the body, as it came.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        if matches!(self.form, Form::NotKnownYet) {
            let Some(first) = piece.iter().find(|byte| !byte.is_ascii_whitespace()) else { return };
            self.form = match first {
                b'{' => Form::Whole(Members::new(self.reading.dialect())),
                _ => Form::Events(Events::default()),
            };
        }
        match &mut self.form {
            Form::NotKnownYet => {}
            Form::Events(events) => events.feed(piece, &mut self.reading),
            Form::Whole(members) => members.feed(piece, &mut self.reading),
        }
    }

    /// That was all.
    pub(crate) fn end(mut self) -> Tapped {
        if let Form::Events(events) = &mut self.form {
            events.end(&mut self.reading);
        }
        let about_written = match &self.form {
            Form::Events(events) => events.about_written(),
            Form::NotKnownYet | Form::Whole(_) => self.bytes.div_ceil(BYTES_OF_TOKEN),
        };
        Tapped { about_written, ..self.reading.found() }
    }
}

#[cfg(test)]
mod tests;
