//! Classifies the error responses of providers. Servers differ in form and wording; all parsing of errors is in this
//! module.

use foreword_core::model::ErrorKind;
use serde_json::Value;

use crate::dialect::DecodeError;

/// The maximum number of characters taken from a provider's error message.
const MAX_MESSAGE_CHARS: usize = 300;

/// Phrases for a request that exceeds the model's context window: Anthropic, OpenAI, vLLM, llama.cpp, Ollama, LiteLLM,
/// Gemini, Mistral.
const TOO_LONG: [&str; 18] = [
    "context_length_exceeded",
    "context length exceeded",
    "context_window_exceeded",
    "contextwindowexceeded",
    "exceed_context_size",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input length and `max_tokens` exceed",
    "maximum context length",
    "max context length",
    "maximum model length",
    "maximum prompt length",
    "exceeds the available context size",
    "exceeds the context length",
    "exceeds the context window",
    "exceeds the maximum number of tokens",
    "too large for model with",
];

/// Phrases for an unknown model, whatever the status.
const NO_SUCH_MODEL: [&str; 5] =
    ["model_not_found", "invalid model name", "model not found", "unknown model", "no such model"];

/// The error of a response with an error status, with the provider's message if there is one.
pub(crate) fn of_status(status: u16, body: &[u8]) -> DecodeError {
    let said = match serde_json::from_slice::<Value>(body) {
        Ok(value) => ErrorBody::read(&value),
        Err(_) => ErrorBody::plain(&String::from_utf8_lossy(body)),
    };
    let kind = kind_of(status, &said.all);
    let otherwise = match kind {
        ErrorKind::Timeout => format!("timed out with status {status}"),
        _ => format!("refused with status {status}"),
    };
    DecodeError { kind, message: said.or(otherwise) }
}

/// The error of an error event inside a stream.
pub(crate) fn in_stream(value: &Value) -> DecodeError {
    let said = ErrorBody::read(value);
    let kind = match said.status {
        Some(status) => kind_of(status, &said.all),
        None => kind_of(status_of(&said.kind), &said.all),
    };
    DecodeError { kind, message: said.or("the provider reported an error without a message".to_owned()) }
}

/// `text` on one line, with at most `most` characters and no control characters.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let visible = text.chars().map(|c| if c.is_control() || is_format(c) { ' ' } else { c });
    let visible: String = visible.collect();
    let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Whether `c` is a directional, invisible or joining character.
fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn kind_of(status: u16, said: &str) -> ErrorKind {
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    match status {
        429 => ErrorKind::RateLimited,
        401 | 403 => ErrorKind::Authentication,
        408 => ErrorKind::Timeout,
        // llama.cpp and some gateways send a 5xx status for it.
        400 | 404 | 422 | 500.. if says(&TOO_LONG) => ErrorKind::ContextTooLong,
        // The gateway timed out.
        504 => ErrorKind::Timeout,
        413 => ErrorKind::ContextTooLong,
        404 if said.contains("model") => ErrorKind::UnknownModel,
        400..500 if says(&NO_SUCH_MODEL) => ErrorKind::UnknownModel,
        425 | 500.. => ErrorKind::Unavailable,
        _ => ErrorKind::BadRequest,
    }
}

/// The HTTP status that corresponds to an error type in a stream. An unknown type counts as temporary.
fn status_of(kind: &str) -> u16 {
    match kind {
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" | "tokens" | "requests" => 429,
        "authentication_error" | "permission_error" => 401,
        "invalid_request_error" | "bad_request_error" | "badrequesterror" | "billing_error" => 400,
        "not_found_error" | "notfounderror" => 404,
        "request_too_large" => 413,
        "overloaded_error" => 529,
        _ => 500,
    }
}

/// The error message and type, from any of the known response formats.
struct ErrorBody {
    message: Option<String>,
    kind: String,
    /// The whole body in lower case, for phrase matching.
    all: String,
    status: Option<u16>,
}

impl ErrorBody {
    fn read(value: &Value) -> Self {
        let error = if value["error"].is_null() { value } else { &value["error"] };
        let text = |place: &Value| place.as_str().map(str::to_owned);
        let message = text(error)
            .or_else(|| text(&error["message"]))
            .or_else(|| text(&value["message"]))
            .or_else(|| text(&error["detail"]))
            .or_else(|| text(&error["detail"][0]["msg"]))
            .or_else(|| text(&error["msg"]));
        let kind = text(&error["type"]).unwrap_or_default().to_lowercase();
        let code = text(&error["code"]).unwrap_or_default();
        let number = error["code"].as_u64().or_else(|| code.parse().ok());
        let status =
            number.and_then(|number| u16::try_from(number).ok()).filter(|code| (400..600).contains(code));
        let all = format!("{kind} {code} {}", message.as_deref().unwrap_or_default()).to_lowercase();
        Self { message, kind, all, status }
    }

    fn plain(body: &str) -> Self {
        // Ignore HTML pages.
        let message = (!body.trim_start().starts_with('<')).then(|| body.to_owned());
        Self { all: body.to_lowercase(), message, kind: String::new(), status: None }
    }

    fn or(self, otherwise: String) -> String {
        let message = self.message.map(|message| one_line(&message, MAX_MESSAGE_CHARS));
        message.filter(|message| !message.is_empty()).unwrap_or(otherwise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(status: u16, body: &str) -> ErrorKind {
        of_status(status, body.as_bytes()).kind
    }

    #[test]
    fn overlong_request_is_recognised_for_every_provider() {
        for (status, body) in [
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#,
            ),
            (
                413,
                r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}"#,
            ),
            (
                400,
                r#"{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","code":400}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_ctx":4096}}"#,
            ),
            (
                500,
                r#"{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size","type":"server_error"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"prompt too long; exceeded max context length by 12 tokens","type":"api_error"}}"#,
            ),
            (400, r#"{"error":"the input length exceeds the context length"}"#),
            (
                400,
                r#"{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: too long","type":null,"code":"400"}}"#,
            ),
        ] {
            assert_eq!(kind(status, body), ErrorKind::ContextTooLong, "{status} {body}");
        }
    }

    #[test]
    fn refusals_map_to_error_kinds() {
        for (status, body, expected) in [
            (401, "", ErrorKind::Authentication),
            (403, r#"{"error":{"message":"no"}}"#, ErrorKind::Authentication),
            (
                429,
                r#"{"error":{"message":"maximum context length of tokens per minute"}}"#,
                ErrorKind::RateLimited,
            ),
            (500, "oops", ErrorKind::Unavailable),
            (502, "<html>Bad gateway</html>", ErrorKind::Unavailable),
            (529, "", ErrorKind::Unavailable),
            (408, "", ErrorKind::Timeout),
            (504, "<html>504 Gateway Time-out</html>", ErrorKind::Timeout),
            (504, r#"{"error":{"message":"Deadline exceeded"}}"#, ErrorKind::Timeout),
            (
                404,
                r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}"#,
                ErrorKind::UnknownModel,
            ),
            (
                404,
                r#"{"error":{"message":"model \"qwen9\" not found, try pulling it first","type":"api_error"}}"#,
                ErrorKind::UnknownModel,
            ),
            (
                400,
                r#"{"error":{"message":"Invalid model name passed in model=qwen9"}}"#,
                ErrorKind::UnknownModel,
            ),
            (404, "404 page not found", ErrorKind::BadRequest),
            (400, r#"{"detail":[{"msg":"field required"}]}"#, ErrorKind::BadRequest),
            (307, "", ErrorKind::BadRequest),
        ] {
            assert_eq!(kind(status, body), expected, "{status} {body}");
        }
    }

    #[test]
    fn stream_errors_are_classified_by_their_type() {
        for (body, expected) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                ErrorKind::Unavailable,
            ),
            (
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}"#,
                ErrorKind::RateLimited,
            ),
            (r#"{"error":{"message":"No.","type":"BadRequestError","code":400}}"#, ErrorKind::BadRequest),
            (r#"{"error":{"message":"x","code":"429"}}"#, ErrorKind::RateLimited),
            (r#"{"error":"something odd"}"#, ErrorKind::Unavailable),
            ("[]", ErrorKind::Unavailable),
        ] {
            let value: Value = serde_json::from_str(body).unwrap();
            assert_eq!(in_stream(&value).kind, expected, "{body}");
        }
    }

    #[test]
    fn provider_message_is_found_and_put_on_one_line() {
        for (body, expected) in [
            (r#"{"error":{"message":"one\ntwo\u001b[31m"}}"#, "one two [31m"),
            (r#"{"error":"plain"}"#, "plain"),
            (r#"{"message":"top"}"#, "top"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"detail":[{"msg":"field required"}]}"#, "field required"),
            ("<html><h1>Bad gateway</h1></html>", "refused with status 400"),
            ("", "refused with status 400"),
            ("{}", "refused with status 400"),
        ] {
            assert_eq!(of_status(400, body.as_bytes()).message, expected, "{body}");
        }
        let long = of_status(400, "word ".repeat(5000).as_bytes()).message;
        assert!(long.chars().count() <= MAX_MESSAGE_CHARS + 1 && long.ends_with('…'));
    }
}
