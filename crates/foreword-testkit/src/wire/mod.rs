//! Encodes answers into steps: bytes to send and delays. Sends nothing itself.

mod anthropic;
mod openai;

use std::time::Duration;

use foreword_core::message::Usage;
use foreword_core::provider::WireDialect;
use serde_json::{Value, json};

use crate::reply::{Answer, Body, Ending};
use crate::{Received, Reply};

/// A step of a connection.
#[derive(Debug, PartialEq)]
pub(crate) enum Step {
    Rest(Duration),
    Send(Vec<u8>),
    /// Waits until the client closes the connection.
    Silence,
    /// Closes the connection.
    HangUp,
}

/// The steps of an answer.
pub(crate) fn steps(reply: &Reply, request: &Received) -> Vec<Step> {
    let mut steps = Vec::new();
    if !reply.before.is_zero() {
        steps.push(Step::Rest(reply.before));
    }
    let Some(dialect) = request.dialect() else {
        // Raw bodies are sent unchanged, whatever the request is.
        if let Body::Raw(body) = &reply.body {
            return whole(steps, reply.status, &reply.headers, "application/json", body);
        }
        return whole(steps, 404, &[], "application/json", br#"{"error":{"message":"no such path"}}"#);
    };
    match &reply.body {
        Body::Silence => steps.push(Step::Silence),
        Body::HangUp => steps.push(Step::HangUp),
        Body::Refusal(message) => {
            let body = refusal(dialect, reply.status, message).to_string();
            return whole(steps, reply.status, &reply.headers, "application/json", body.as_bytes());
        }
        Body::Raw(body) if reply.status != 200 => {
            return whole(steps, reply.status, &reply.headers, "application/json", body);
        }
        Body::Raw(body) => stream(&mut steps, reply, vec![body.clone()], &Ending::Complete),
        Body::Answer(answer) => {
            let asked = RequestFacts::of(request, answer, reply.usage);
            if answer.whole || !asked.stream {
                let body = match dialect {
                    WireDialect::Anthropic => anthropic::whole(answer, &asked),
                    WireDialect::OpenAi => openai::whole(answer, &asked),
                };
                let body = body.to_string();
                return whole(steps, reply.status, &reply.headers, "application/json", body.as_bytes());
            }
            let events = match dialect {
                WireDialect::Anthropic => anthropic::events(answer, &asked),
                WireDialect::OpenAi => openai::events(answer, &asked),
            };
            stream(&mut steps, reply, events, &answer.ending);
        }
    }
    steps
}

/// The parts of the request that the answer depends on.
pub(crate) struct RequestFacts {
    number: usize,
    model: String,
    stream: bool,
    wants_usage: bool,
    usage: Usage,
}

impl RequestFacts {
    fn of(request: &Received, answer: &Answer, usage: Option<Usage>) -> Self {
        let asked = request.json();
        let as_long = |bytes: usize| u64::try_from(bytes / 4 + 1).unwrap_or(u64::MAX);
        let written = answer.parts.iter().map(|part| format!("{part:?}").len()).sum();
        let by_length =
            Usage { input: as_long(request.body.len()), output: as_long(written), ..Usage::default() };
        Self {
            number: request.number,
            model: asked["model"].as_str().unwrap_or("fake").to_owned(),
            stream: asked["stream"] == true,
            wants_usage: asked["stream_options"]["include_usage"] == true,
            usage: usage.unwrap_or(by_length),
        }
    }

    fn call_id(&self, index: usize) -> String {
        format!("call_{}_{index}", self.number)
    }
}

fn refusal(dialect: WireDialect, status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    match dialect {
        WireDialect::Anthropic => {
            json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_fake" })
        }
        WireDialect::OpenAi => {
            json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
        }
    }
}

fn whole(
    mut steps: Vec<Step>,
    status: u16,
    headers: &[(String, String)],
    kind: &str,
    body: &[u8],
) -> Vec<Step> {
    let mut bytes = head(status, headers, kind);
    bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    bytes.extend_from_slice(body);
    steps.push(Step::Send(bytes));
    steps
}

/// A body in chunks: one per event, or of the configured size.
fn stream(steps: &mut Vec<Step>, reply: &Reply, events: Vec<Vec<u8>>, ending: &Ending) {
    let mut bytes = head(reply.status, &reply.headers, "text/event-stream");
    bytes.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
    steps.push(Step::Send(bytes));
    let pieces = match reply.piece {
        Some(size) => events.concat().chunks(size).map(<[u8]>::to_vec).collect(),
        None => events,
    };
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        if !reply.between.is_zero() {
            steps.push(Step::Rest(reply.between));
        }
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(&piece);
        chunk.extend_from_slice(b"\r\n");
        steps.push(Step::Send(chunk));
    }
    match ending {
        Ending::Cut => steps.push(Step::HangUp),
        Ending::Silence => steps.push(Step::Silence),
        Ending::Complete | Ending::Error { .. } => {
            if !reply.between.is_zero() {
                steps.push(Step::Rest(reply.between));
            }
            steps.push(Step::Send(b"0\r\n\r\n".to_vec()));
        }
    }
}

fn head(status: u16, headers: &[(String, String)], kind: &str) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} as the script says\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        head.push_str(&format!("content-type: {kind}\r\n"));
    }
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    head.into_bytes()
}

/// Words with the whitespace after them, like the deltas of models.
fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// The text in short pieces.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(9).map(|piece| piece.iter().collect()).collect()
}
