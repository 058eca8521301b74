//! Lists the content of a request: the headings of its system blocks and its context, and the names of its tools. The
//! offline model uses it to show its layers; a layer without a heading is shown by its first words.

use foreword_core::model::ModelRequest;
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::untrusted::single_line;

const MAX_HEADINGS: usize = 14;
const OPENING_WORDS: usize = 7;
const SHOWN_CHARS: usize = 70;

/// The outline of the request.
pub(crate) fn outline(request: &ModelRequest, context: &str) -> String {
    let mut lines = vec![system_line(request)];
    for (number, block) in (1_usize..).zip(&request.system) {
        lines.push(format!("{number}. {}", listed(&titles(&block.text))));
    }
    let titles_in_context = titles(context);
    if !titles_in_context.is_empty() {
        lines.push(format!("Context of this turn: {}", listed(&titles_in_context)));
    }
    let names: Vec<String> = request.tools.iter().map(|tool| single_line(&tool.name, SHOWN_CHARS)).collect();
    lines.push(if names.is_empty() {
        "Tools: none".to_owned()
    } else {
        format!("Tools: {}", listed(&names))
    });
    lines.join("\n")
}

fn system_line(request: &ModelRequest) -> String {
    let counter = Tokenizer::Estimate.get();
    let tokens: usize = request.system.iter().map(|block| counter.count(&block.text)).sum();
    match request.system.len() {
        0 => "I was given no system prompt.".to_owned(),
        1 => format!("I was given 1 system block of about {tokens} tokens:"),
        count => format!("I was given {count} system blocks of about {tokens} tokens:"),
    }
}

/// The headings of a text, preceded by its first words if it does not start with a heading.
fn titles(text: &str) -> Vec<String> {
    let text = text.trim();
    let mut titles = Vec::new();
    let mut fenced = false;
    for (at, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            fenced = !fenced;
        }
        match heading(line) {
            Some(title) if !fenced => titles.push(single_line(title, SHOWN_CHARS)),
            _ if at == 0 && !line.is_empty() => titles.push(opening(line)),
            _ => {}
        }
    }
    titles
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix("## ").or(line.strip_prefix("# ")).map(str::trim).filter(|title| !title.is_empty())
}

fn opening(line: &str) -> String {
    let mut words = line.split_whitespace();
    let first: Vec<&str> = words.by_ref().take(OPENING_WORDS).collect();
    let more = if words.next().is_some() { " …" } else { "" };
    format!("“{}{more}”", single_line(&first.join(" "), SHOWN_CHARS))
}

fn listed(titles: &[String]) -> String {
    let shown = titles.iter().take(MAX_HEADINGS).map(String::as_str).collect::<Vec<_>>().join(", ");
    match titles.len().saturating_sub(MAX_HEADINGS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outline_has_opening_text_and_headings() {
        let text = "\n\nYou are warm, dry and brief, and like it here.\n\n## Acting\n\n### Fine print\n```\n# no\n```\n# Skills";
        assert_eq!(titles(text), ["“You are warm, dry and brief, and …”", "Acting", "Skills"]);
        assert_eq!(titles("## Tools\n- x"), ["Tools"]);
        assert!(titles(" \n").is_empty());
    }

    #[test]
    fn long_list_is_counted_instead_of_shown() {
        let many: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        assert!(listed(&many).ends_with("12, 13 and 6 more"));
    }
}
