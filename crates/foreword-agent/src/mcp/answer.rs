//! What a server answered, as text for a model: text as it is, everything else described in words, all of it within bounds and
//! from outside.

use foreword_prompt::text::with_thousands;
use foreword_prompt::untrusted::single_line;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::tool::{ToolCall, ToolOutput};
use crate::tools::limits::truncated;

/// How much of an answer a model reads, in bytes; as much as of a command's output.
const MOST_BYTES: usize = 32_768;
/// How much of a name or kind is repeated.
const WORD_CHARS: usize = 120;

/// What a model is told of a result.
pub(super) fn told(server: &str, tool: &str, result: CallToolResult, call: &ToolCall) -> ToolOutput {
    let failed = result.is_error.unwrap_or(false);
    let whole = readable(result);
    let (text, left_out) = cut(&whole, MOST_BYTES);
    let mut output = if failed {
        // The first line goes into the log: it is ours.
        let output = ToolOutput::outside(format!("the server `{server}` says that it failed:\n{text}"));
        ToolOutput { is_error: true, ..output }
    } else {
        ToolOutput::outside(text)
    };
    if left_out > 0 {
        output = output.with_event(truncated(call, tool, whole.len(), whole.len() - left_out));
    }
    output
}

/// What a model is told of a call the server did not take.
pub(super) fn refused(server: &str, words: &str) -> ToolOutput {
    let (words, _) = cut(&words.replace('\0', "\u{fffd}"), MOST_BYTES);
    let output = ToolOutput::outside(format!("the server `{server}` refused the call:\n{words}"));
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
    // No store takes a NUL, and no model needs one.
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

/// What is no text, in words. It came as base64, of which four letters are three bytes.
fn data(what: &str, kind: Option<&str>, letters: usize) -> String {
    let kind = kind.map(|kind| format!(" ({})", word(kind))).unwrap_or_default();
    format!("[{what}{kind} of about {} bytes, which can't be shown here]", with_thousands(letters / 4 * 3))
}

/// At most `limit` bytes of `text`, half from its beginning and half from its end; and how many were left out.
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
    fn values_are_read_where_there_is_no_text_and_nothing_is_called_that() {
        assert_eq!(
            read(json!({ "content": [], "structuredContent": { "b": 1, "a": [2] } })),
            r#"{"a":[2],"b":1}"#
        );
        assert_eq!(read(json!({ "content": [] })), "(it gave nothing)");
        assert_eq!(read(json!({ "content": [{ "type": "text", "text": "a\u{0}b" }] })), "a\u{fffd}b");
    }

    #[test]
    fn of_a_long_answer_the_middle_is_left_out_between_characters() {
        assert_eq!(cut("abcdef", 6), ("abcdef".to_owned(), 0));
        assert_eq!(cut("ééxxxxxxéé", 6), ("é\n[10 bytes left out here]\né".to_owned(), 10));
    }
}
