//! HEARTBEAT.md: what the agent looks after by itself. It has something to say only if it holds more than headings and
//! comments.

/// Whether `text` asks for anything.
pub(super) fn says_anything(text: &str) -> bool {
    let is_words = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && line.chars().any(char::is_alphanumeric)
    };
    without_comments(text).lines().any(is_words)
}

/// `text` without its `<!-- … -->`; one that is never closed goes to the end.
fn without_comments(mut text: &str) -> String {
    let mut kept = String::new();
    while let Some((before, rest)) = text.split_once("<!--") {
        kept.push_str(before);
        text = rest.split_once("-->").map_or("", |(_, after)| after);
    }
    kept + text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headings_and_comments_ask_for_nothing() {
        let nothing =
            ["", "\n \n", "# Heartbeat\n", "# A\n\n## B\n", "<!-- look\nafter the roses -->", "#\n---\n- \n"];
        for text in nothing {
            assert!(!says_anything(text), "{text:?}");
        }
        for text in ["Water the roses.", "# Daily\n\n- look at the inbox\n", "<!-- a --> go <!-- b -->"] {
            assert!(says_anything(text), "{text:?}");
        }
    }
}
