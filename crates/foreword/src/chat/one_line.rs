//! Tool calls and results on one line of a terminal. Control and invisible characters are escaped and everything else
//! is shown unchanged: the owner may have to approve the call.

use foreword_prompt::untrusted::preview;
use serde_json::{Map, Value};
use terminal_size::{Width, terminal_size_of};

/// The width if it is unknown.
const DEFAULT_WIDTH: usize = 100;
const MIN_WIDTH: usize = 40;

/// The width of standard error.
pub(crate) fn width() -> usize {
    terminal_size_of(std::io::stderr())
        .map_or(DEFAULT_WIDTH, |(Width(columns), _)| usize::from(columns).max(MIN_WIDTH))
}

/// A call such as `memory_search("carol birthday")`.
pub(crate) fn call(tool: &str, arguments: &Map<String, Value>) -> String {
    let values: Vec<String> = match arguments.iter().collect::<Vec<_>>().as_slice() {
        [(_, value)] => vec![value.to_string()],
        several => several.iter().map(|(name, value)| format!("{name}: {value}")).collect(),
    };
    escape_invisible(&format!("{tool}({})", values.join(", ")))
}

/// The first meaningful line of a result, and how much more there is.
pub(crate) fn result(content: &str, room: usize) -> String {
    let lines: Vec<&str> = content.lines().filter(|line| !line.trim().is_empty()).collect();
    // A frame around untrusted text starts with a heading; its content has a bar at the start of each line.
    let first = lines.iter().find(|line| line.starts_with("| ")).or(lines.first()).copied();
    let more = if lines.len() > 1 { format!(" (+{} lines)", lines.len() - 1) } else { String::new() };
    let first = first.unwrap_or("nothing").trim_start_matches("| ").trim_end_matches(':');
    let room = room.saturating_sub(more.chars().count());
    format!("{}{more}", preview(first, room))
}

/// At most `room` characters of `text`.
pub(crate) fn fitted(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// `text` with invisible characters escaped.
pub(crate) fn escape_invisible(text: &str) -> String {
    let shown = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        // Joiners are part of words; bidirectional and invisible characters are escaped.
        c if c.is_alphanumeric() => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    text.chars().map(shown).collect()
}

/// A model's text without terminal control sequences.
pub(crate) fn strip_control_sequences(words: &str) -> String {
    words.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_call(tool: &str, arguments: Value, expected: &str) {
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        assert_eq!(call(tool, &arguments), expected);
    }

    #[test]
    fn call_is_shown_with_invisible_characters_escaped() {
        check_call("foreword_status", json!({}), "foreword_status()");
        check_call("bash", json!({ "command": "ls > `x` <y>" }), r#"bash("ls > `x` <y>")"#);
        check_call(
            "memory_get",
            json!({ "path": "a.md", "from": 5 }),
            r#"memory_get(from: 5, path: "a.md")"#,
        );
        let hidden = json!({ "command": "rm \u{202e}x\u{200b}\n\u{1b}[2J é" });
        check_call("bash", hidden, r#"bash("rm \u{202e}x\u{200b}\n\u001b[2J é")"#);
    }

    #[test]
    fn result_shows_first_line_and_length() {
        assert_eq!(result("one:\n\ntwo\nthree\n", 40), "one (+2 lines)");
        assert_eq!(result("<frame>\nrule\n| hello\n</frame>", 40), "hello (+3 lines)");
        assert_eq!(result("", 40), "nothing");
        assert_eq!(result("a long line that goes on", 10), "a long li…");
    }

    #[test]
    fn terminal_control_sequences_are_removed() {
        assert_eq!(strip_control_sequences("a\u{1b}[2Jb\tc\n\u{7}\u{9b}31m"), "a[2Jb\tc\n31m");
    }
}
