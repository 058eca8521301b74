//! Splits a response body into server-sent events, or collects one JSON value if the server does not stream. Accepts
//! all line ends, comments, multi-line data, a byte order mark, and chunks split at any byte.

use foreword_core::model::{ErrorKind, ModelEvent, Note};

use super::{DecodeError, Decoded};

/// The maximum size of one event, or of a JSON body.
pub(super) const MAX_HELD: usize = 16 << 20;

/// How many bytes of unfinished blocks are buffered between two reports of them.
const BUFFER_REPORT_BYTES: usize = 64 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reports the bytes of unfinished blocks, so that the caller can end an answer that is far too long.
pub(super) fn report_buffered(before: usize, added: usize, out: &mut Decoded) {
    if before / BUFFER_REPORT_BYTES != (before + added) / BUFFER_REPORT_BYTES {
        out.push(Ok(ModelEvent::Note(Note::Buffered(before + added))));
    }
}

/// A server-sent event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) name: Option<String>,
    pub(super) data: String,
}

/// The rest of the body after the last complete event.
#[derive(Debug)]
pub(super) enum Rest {
    Nothing,
    /// The last event, without its terminating empty line.
    Event(Frame),
    /// A JSON body.
    Whole(Vec<u8>),
}

/// An incremental parser.
#[derive(Debug, Default)]
pub(super) struct FrameDecoder {
    form: Form,
    /// The incomplete line, or the JSON body so far.
    line: Vec<u8>,
    name: Option<String>,
    data: Option<Vec<u8>>,
    /// Whether the last byte was a carriage return: a following line feed belongs to the same line end.
    after_return: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Form {
    #[default]
    Unknown,
    Events,
    Whole,
    Refused,
}

impl FrameDecoder {
    /// The events completed by `bytes`, and the error after them, if any.
    pub(super) fn push(&mut self, bytes: &[u8]) -> (Vec<Frame>, Option<DecodeError>) {
        let mut frames = Vec::new();
        match self.form {
            Form::Refused => return (frames, None),
            Form::Events => self.lines(bytes, &mut frames),
            Form::Whole => self.line.extend_from_slice(bytes),
            Form::Unknown => {
                self.line.extend_from_slice(bytes);
                self.form = form_of(&self.line);
                if self.form == Form::Events {
                    let line = std::mem::take(&mut self.line);
                    self.lines(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line), &mut frames);
                }
            }
        }
        let fault = self.fault();
        if fault.is_some() {
            self.form = Form::Refused;
        }
        (frames, fault)
    }

    /// Ends the body.
    pub(super) fn finish(&mut self) -> Rest {
        let line = std::mem::take(&mut self.line);
        match self.form {
            Form::Whole => Rest::Whole(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line).to_vec()),
            Form::Events => {
                self.field(&line);
                self.frame().map_or(Rest::Nothing, Rest::Event)
            }
            Form::Unknown | Form::Refused => Rest::Nothing,
        }
    }

    fn fault(&self) -> Option<DecodeError> {
        if self.form == Form::Refused {
            let message = "the answer is a web page, not a model's: check `base_url`".to_owned();
            return Some(DecodeError { kind: ErrorKind::BadRequest, message });
        }
        let held = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
        (held > MAX_HELD)
            .then(|| DecodeError::broken(format!("a piece of the answer is longer than {MAX_HELD} bytes")))
    }

    fn lines(&mut self, mut bytes: &[u8], frames: &mut Vec<Frame>) {
        loop {
            if self.after_return && !bytes.is_empty() {
                self.after_return = false;
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else { break };
            self.after_return = bytes[end] == b'\r';
            if self.line.is_empty() {
                self.end_line(&bytes[..end], frames);
            } else {
                self.line.extend_from_slice(&bytes[..end]);
                let line = std::mem::take(&mut self.line);
                self.end_line(&line, frames);
            }
            bytes = &bytes[end + 1..];
        }
        self.line.extend_from_slice(bytes);
    }

    fn end_line(&mut self, line: &[u8], frames: &mut Vec<Frame>) {
        if line.is_empty() {
            frames.extend(self.frame());
        } else {
            self.field(line);
        }
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = (&line[..colon], line.get(colon + 1..).unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = Some(String::from_utf8_lossy(value).into_owned()),
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            _ => {}
        }
    }

    /// The completed event, or `None` if it has no data.
    fn frame(&mut self) -> Option<Frame> {
        let name = self.name.take();
        let data = self.data.take()?;
        Some(Frame { name, data: String::from_utf8_lossy(&data).into_owned() })
    }
}

fn form_of(start: &[u8]) -> Form {
    if start.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(start) {
        return Form::Unknown;
    }
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start).trim_ascii_start();
    match start.first() {
        None => Form::Unknown,
        Some(b'{' | b'[') => Form::Whole,
        Some(b'<') => Form::Refused,
        Some(_) => Form::Events,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(text: &str) -> Vec<(Option<String>, String)> {
        let mut framing = FrameDecoder::default();
        let (mut frames, fault) = framing.push(text.as_bytes());
        assert_eq!(fault, None);
        if let Rest::Event(frame) = framing.finish() {
            frames.push(frame);
        }
        frames.into_iter().map(|frame| (frame.name, frame.data)).collect()
    }

    #[test]
    fn events_are_found_however_their_lines_end() {
        let expected = [(Some("a".to_owned()), "1\n2".to_owned()), (None, "3".to_owned())];
        for end in ["\n", "\r\n", "\r"] {
            for mark in ["", "\u{feff}"] {
                let text =
                    [": hello", "event: a", "data: 1", "data:2", "id: 7", "", "retry: 1", "data: 3", ""]
                        .join(end);
                assert_eq!(frames(&format!("{mark}{text}{end}")), expected, "{end:?} {mark:?}");
            }
        }
    }

    #[test]
    fn unterminated_event_counts_and_empty_event_does_not() {
        assert_eq!(frames("event: a\n\ndata: last"), [(None, "last".to_owned())]);
    }

    #[test]
    fn endless_line_is_an_error() {
        let mut framing = FrameDecoder::default();
        let (_, fault) = framing.push(&vec![b'x'; MAX_HELD + 1]);
        assert_eq!(fault.map(|fault| fault.kind), Some(ErrorKind::BrokenStream));
        assert!(framing.push(b"data: 1\n\n").0.is_empty());
    }

    #[test]
    fn html_response_is_recognised() {
        let (_, fault) = FrameDecoder::default().push(b"\n<!doctype html>");
        assert!(fault.is_some_and(|fault| fault.message.contains("`base_url`")));
    }
}
