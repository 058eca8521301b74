//! What tools are called with and what they gave, on one line of a terminal. What would command the terminal or hide is
//! written out, and everything else is shown as it is: somebody may have to decide by it.

use foreword_prompt::untrusted::preview;
use serde_json::{Map, Value};
use terminal_size::{Width, terminal_size_of};

/// How wide a line is where nobody says.
const USUAL: usize = 100;
/// The narrowest line that still says something.
const LEAST: usize = 40;

/// How wide lines on standard error may be.
pub(crate) fn width() -> usize {
    terminal_size_of(std::io::stderr()).map_or(USUAL, |(Width(columns), _)| usize::from(columns).max(LEAST))
}

/// A call as programmers write it: `memory_search("carol birthday")`.
pub(crate) fn call(tool: &str, arguments: &Map<String, Value>) -> String {
    let values: Vec<String> = match arguments.iter().collect::<Vec<_>>().as_slice() {
        [(_, value)] => vec![value.to_string()],
        several => several.iter().map(|(name, value)| format!("{name}: {value}")).collect(),
    };
    exposed(&format!("{tool}({})", values.join(", ")))
}

/// The first line of what a tool gave that says something, and how much more there is.
pub(crate) fn result(content: &str, room: usize) -> String {
    let lines: Vec<&str> = content.lines().filter(|line| !line.trim().is_empty()).collect();
    // A frame begins with what it is; what is in it stands behind a bar.
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

/// `text` with everything in it that can't be seen written out.
pub(crate) fn exposed(text: &str) -> String {
    let shown = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        // What joins letters is a part of words; what turns or hides them is escaped.
        c if c.is_alphanumeric() => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    text.chars().map(shown).collect()
}

/// What a model says, without what would command the terminal.
pub(crate) fn harmless(words: &str) -> String {
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
    fn a_call_is_shown_as_it_is_with_what_hides_written_out() {
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
    fn a_result_is_shown_by_its_first_words_and_its_length() {
        assert_eq!(result("one:\n\ntwo\nthree\n", 40), "one (+2 lines)");
        assert_eq!(result("<frame>\nrule\n| hello\n</frame>", 40), "hello (+3 lines)");
        assert_eq!(result("", 40), "nothing");
        assert_eq!(result("a long line that goes on", 10), "a long li…");
    }

    #[test]
    fn what_a_model_says_can_not_command_the_terminal() {
        assert_eq!(harmless("a\u{1b}[2Jb\tc\n\u{7}\u{9b}31m"), "a[2Jb\tc\n31m");
    }
}
