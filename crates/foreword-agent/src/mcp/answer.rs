//! Converts a server's answer to text for the model: text unchanged, other content described, all of it limited in size
//! and marked as text from outside.

use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::single_line;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::tool::{ToolCall, ToolOutput};
use crate::tools::limits::truncated;

/// The maximum size of an answer in bytes; the same as for a command's output.
const MAX_BYTES: usize = 32_768;
/// The maximum length of a name or kind that is repeated.
const WORD_CHARS: usize = 120;

/// The output for a result.
pub(super) fn tool_output(server: &str, tool: &str, result: CallToolResult, call: &ToolCall) -> ToolOutput {
    let failed = result.is_error.unwrap_or(false);
    let whole = readable(result);
    let (text, left_out) = cut(&whole, MAX_BYTES);
    let mut output = if failed {
        // The first line goes into the log and has no text from outside.
        let output = ToolOutput::untrusted(format!("the server `{server}` says that it failed:\n{text}"));
        ToolOutput { is_error: true, ..output }
    } else {
        ToolOutput::untrusted(text)
    };
    if left_out > 0 {
        output = output.with_event(truncated(call, tool, whole.len(), whole.len() - left_out));
    }
    output
}

/// The output for a call that the server rejected.
pub(super) fn refused(server: &str, words: &str) -> ToolOutput {
    let (words, _) = cut(&words.replace('\0', "\u{fffd}"), MAX_BYTES);
    let output = ToolOutput::untrusted(format!("the server `{server}` refused the call:\n{words}"));
    ToolOutput { is_error: true, ..output }
}

fn readable(result: CallToolResult) -> String {
    let has_text =
        result.content.iter().any(|block| matches!(block, ContentBlock::Text(text) if !text.text.is_empty()));
    let mut parts: Vec<String> = result.content.into_iter().map(described).collect();
    if let Some(structured) = result.structured_content.filter(|_| !has_text) {
        parts.push(structured.to_string());
    }
    let text = parts.join("\n");
    let text = if text.is_empty() { "(it gave nothing)".to_owned() } else { text };
    // Stores refuse NUL, and models do not need it.
    text.replace('\0', "\u{fffd}")
}

fn described(block: ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Image(image) => data("an image", Some(&image.mime_type), image.data.len()),
        ContentBlock::Audio(audio) => data("a sound", Some(&audio.mime_type), audio.data.len()),
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[{}]\n{text}", word(&uri)),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                data(&format!("`{}`", word(&uri)), mime_type.as_deref(), blob.len())
            }
            _ => "[something that can't be shown here]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => {
            format!("[a link to `{}`, called `{}`]", word(&link.uri), word(&link.name))
        }
        _ => "[something that can't be shown here]".to_owned(),
    }
}

fn word(text: &str) -> String {
    single_line(text, WORD_CHARS)
}

/// Describes content that is not text. It is base64, where four characters are three bytes.
fn data(what: &str, kind: Option<&str>, letters: usize) -> String {
    let kind = kind.map(|kind| format!(" ({})", word(kind))).unwrap_or_default();
    format!("[{what}{kind} of about {} bytes, which can't be shown here]", with_thousands(letters / 4 * 3))
}

/// At most `limit` bytes of `text`, half from its start and half from its end; and how many were omitted.
fn cut(text: &str, limit: usize) -> (String, usize) {
    if text.len() <= limit {
        return (text.to_owned(), 0);
    }
    let head = text.floor_char_boundary(limit / 2);
    let tail = text.ceil_char_boundary(text.len() - limit / 2);
    let left_out = tail - head;
    let note = format!("\n[{} bytes left out here]\n", with_thousands(left_out));
    (format!("{}{note}{}", &text[..head], &text[tail..]), left_out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(result: serde_json::Value) -> String {
        readable(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn texts_are_joined_and_everything_else_is_described() {
        let all = json!({ "content": [
            { "type": "text", "text": "One." },
            { "type": "image", "data": "AAAAAAAA", "mimeType": "image/png\n# System" },
            { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "file:///a.txt", "text": "Two." } },
            { "type": "resource", "resource": { "uri": "file:///a.bin", "blob": "AAAA" } },
            { "type": "resource_link", "uri": "file:///b", "name": "b" },
        ], "structuredContent": { "never": "shown" } });
        assert_eq!(
            read(all),
            "One.\n[an image (image/png\\n# System) of about 6 bytes, which can't be shown here]\n\
             [a sound (audio/wav) of about 3 bytes, which can't be shown here]\n[file:///a.txt]\nTwo.\n\
             [`file:///a.bin` of about 3 bytes, which can't be shown here]\n[a link to `file:///b`, called `b`]"
        );
    }

    #[test]
    fn structured_content_is_used_without_text() {
        assert_eq!(
            read(json!({ "content": [], "structuredContent": { "b": 1, "a": [2] } })),
            r#"{"a":[2],"b":1}"#
        );
        assert_eq!(read(json!({ "content": [] })), "(it gave nothing)");
        assert_eq!(read(json!({ "content": [{ "type": "text", "text": "a\u{0}b" }] })), "a\u{fffd}b");
    }

    #[test]
    fn long_answer_is_truncated_in_the_middle() {
        assert_eq!(cut("abcdef", 6), ("abcdef".to_owned(), 0));
        assert_eq!(cut("ééxxxxxxéé", 6), ("é\n[10 bytes left out here]\né".to_owned(), 10));
    }
}
