//! HEARTBEAT.md: recurring instructions for the agent. Headings and comments alone count as no instructions.

/// Whether `text` contains anything besides headings and comments.
pub(super) fn has_instructions(text: &str) -> bool {
    let is_words = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && line.chars().any(char::is_alphanumeric)
    };
    without_comments(text).lines().any(is_words)
}

/// `text` without its `<!-- … -->`; an unclosed comment extends to the end.
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
    fn headings_and_comments_are_not_instructions() {
        let nothing =
            ["", "\n \n", "# Heartbeat\n", "# A\n\n## B\n", "<!-- look\nafter the roses -->", "#\n---\n- \n"];
        for text in nothing {
            assert!(!has_instructions(text), "{text:?}");
        }
        for text in ["Water the roses.", "# Daily\n\n- look at the inbox\n", "<!-- a --> go <!-- b -->"] {
            assert!(has_instructions(text), "{text:?}");
        }
    }
}
