//! Finds phrases in comments and documentation that hide the field's own term, and names that break the naming rules.

/// Roundabout phrases. Each has a plain form: a named actor, an active verb, or the term of the field.
const DENIED_PHRASES: &[&str] = &[
    "whoever",
    "whomever",
    "somebody",
    "nobody",
    "anybody",
    "goes on",
    "go on",
    "went on",
    "gone on",
    "is told",
    "are told",
    "was told",
    "were told",
    "be told",
    "stands for",
    "stand for",
    "stands in",
    "says so",
    "said so",
    "is said",
    "was said",
    "what becomes of",
    "what became of",
    "what came of",
    "under way",
    "makes no sense",
    "opens nothing",
    "can be had",
    "is to be had",
    "in the way",
    "by the clock",
    "is away",
    "are away",
    "is waited for",
    "are waited for",
    "is looked at",
    "are looked at",
    "looks after",
    "as people write",
    "as people read",
    "takes the word",
    "of a life",
    "has been lived in",
    "can't be had",
    "stood for",
    "standing for",
    "it says so",
    "at hand",
    "what was said",
    "what is said",
    "is asked for",
    "are asked for",
    "was asked for",
    "is given back",
    "gives back",
    "hears of",
    "looks again",
    "in their place",
    "of its own accord",
    "says nothing",
    "told apart",
];

/// Metaphors that were names once, and names that do not say what a type or constant is.
const DENIED_NAMES: &[&str] = &[
    "Purse",
    "Clockwork",
    "Onlooker",
    "Visitor",
    "KeptWords",
    "Ours",
    "Theirs",
    "Happening",
    "Spoken",
    "Placed",
    "Kept",
    "Known",
    "Said",
    "Shown",
    "Told",
    "Words",
    "PATIENCE",
    "LOOK_AGAIN",
];

/// Functions are named by a verb, or by what they return.
const DENIED_FUNCTIONS: &[&str] = &["said", "shown", "told", "words"];

/// Limits are named `MAX_…`.
const DENIED_CONSTANTS: &[&str] = &["MOST_", "LONGEST_"];

/// Files that end in `ing` and are nouns.
const ING_NOUNS: &[&str] = &[
    "caching", "encoding", "framing", "heading", "listing", "logging", "metering", "nesting", "paging",
    "pricing", "ring", "routing", "setting", "spending", "string", "timing", "tracing", "warning",
];

/// Texts that are right although they contain a denied phrase: stored names, and sentences whose generality is meant.
const ALLOWED_TEXTS: &[&str] = &[
    "somebody unknown",
    "whoever it claims to speak for",
    "alias = \"somebody\"",
    "alias = \"nobody\"",
    "placeholder=\"somebody@example.org\"",
];

/// Files whose texts imitate people.
const IMITATIONS: &[&str] = &["foreword-offline/src/", "serve/demo/sample_conversations.rs"];

/// The lines of code that may contain texts for users and models, each with its number, and titles of browser tests.
pub(crate) fn texts<'a>(path: &str, text: &'a str) -> impl Iterator<Item = (usize, String)> + use<'a> {
    let is_title = path.starts_with("web/tests/");
    let is_test = path.contains("/tests") || path.contains(".test.");
    let is_source =
        (path.starts_with("crates/") && path.contains("/src/") || path.starts_with("web/src/")) && !is_test;
    let is_exempt = path.ends_with("schema.d.ts") || IMITATIONS.iter().any(|part| path.contains(part));
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let lines = (1..).zip(code.lines()).filter(move |(_, line)| {
        let line = line.trim_start();
        let is_code = is_source && comment(line).is_none() && !line.starts_with("* ");
        !is_exempt && (is_code || is_title && line.starts_with("test("))
    });
    lines.map(|(number, line)| {
        (number, ALLOWED_TEXTS.iter().fold(line.to_owned(), |line, allowed| line.replace(allowed, "")))
    })
}

/// The text of a comment line, or nothing.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start();
    text.strip_prefix("///").or_else(|| text.strip_prefix("//!")).or_else(|| text.strip_prefix("//"))
}

/// Lower-case words with one space before and after each, so that a phrase is found as whole words.
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + 2);
    spaced.push(' ');
    for word in text
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '`' | '_'))
        .filter(|word| !word.is_empty())
    {
        spaced.push_str(&word.to_lowercase());
        spaced.push(' ');
    }
    spaced
}

/// The denied phrases in one line of prose.
pub(crate) fn denied_phrases(prose: &str) -> impl Iterator<Item = &'static str> {
    let prose = spaced(prose);
    DENIED_PHRASES.iter().copied().filter(move |phrase| prose.contains(&format!(" {phrase} ")))
}

/// The lines of comments in Rust or TypeScript, each with its number. Code examples in doc comments are left out.
pub(crate) fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_example = false;
    (1..).zip(text.lines()).filter_map(move |(number, line)| {
        let text = comment(line)?;
        if text.trim_start().starts_with("```") {
            in_example = !in_example;
            return None;
        }
        (!in_example).then_some((number, text))
    })
}

/// The lines of prose on a Markdown page, each with its number.
pub(crate) fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    (1..).zip(page.lines()).filter(move |(_, line)| {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            return false;
        }
        !in_code
    })
}

/// The denied names that a Rust file declares.
pub(crate) fn denied_names(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let modifiers = ["async", "unsafe", "extern", "mut"];
        let mut words =
            line.split_whitespace().filter(|word| !word.starts_with("pub") && !modifiers.contains(word));
        let (mut kind, mut name) = (words.next()?, words.next()?);
        if kind == "const" && name == "fn" {
            (kind, name) = (name, words.next()?);
        }
        let name = name.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        let is_denied = match kind {
            "fn" => DENIED_FUNCTIONS.contains(&name),
            "struct" | "enum" | "trait" | "type" => DENIED_NAMES.contains(&name) || name.ends_with("Place"),
            "const" | "static" => {
                DENIED_NAMES.contains(&name) || DENIED_CONSTANTS.iter().any(|start| name.starts_with(start))
            }
            _ => false,
        };
        is_denied.then_some(name)
    })
}

/// Whether a file is named by a participle, such as `calling.rs`.
pub(crate) fn is_participle(path: &str) -> bool {
    let name = path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).unwrap_or_default();
    let last = name.rsplit('_').next().unwrap_or(name);
    last.ends_with("ing") && !ING_NOUNS.contains(&last)
}

/// The functions of a file with a tuple among their parameters, whether they take it apart or not.
pub(crate) fn tuple_parameters(text: &str) -> Vec<&str> {
    let named = text.match_indices("fn ").filter_map(|(at, start)| {
        let rest = &text[at + start.len()..];
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
        let rest = &rest[name.len()..];
        let rest = if rest.starts_with('<') { &rest[elements(rest).1 + 1..] } else { rest };
        let parameters = if rest.starts_with('(') { elements(rest).0 } else { Vec::new() };
        parameters.into_iter().any(is_tuple).then_some(name)
    });
    named.collect()
}

/// Whether a parameter is a tuple. The inputs of property tests (`pattern in strategy`) are not parameters.
fn is_tuple(parameter: &str) -> bool {
    let (pattern, kind) = parameter.split_once(": ").unwrap_or((parameter, ""));
    [pattern, kind].iter().any(|text| {
        let text = text.trim_start_matches('&').trim_start_matches("mut ");
        let text =
            if text.starts_with('\'') { text.split_once(' ').map_or("", |(_, text)| text) } else { text };
        text.starts_with('(') && !text.contains(") in ") && elements(text).0.len() > 1
    })
}

/// The elements of a list that begins with its opening bracket, and the position of the closing one.
fn elements(list: &str) -> (Vec<&str>, usize) {
    let (mut found, mut depth, mut start) = (Vec::new(), 0, 1);
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if list[..at].ends_with(['-', '=']) => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 || depth == 1 && c == ',' {
            found.push(list[start..at].trim());
            start = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    found.retain(|element| !element.is_empty());
    (found, start - 1)
}

/// The names of public types that a file declares.
pub(crate) fn public_types(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest =
            ["pub struct ", "pub enum ", "pub trait "].iter().find_map(|start| line.strip_prefix(start))?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
    })
}

#[test]
fn phrases_are_found_as_whole_words() {
    assert_eq!(denied_phrases("Whoever asks, is told so.").collect::<Vec<_>>(), ["whoever", "is told"]);
    assert_eq!(denied_phrases("The store is awake.").count(), 0);
}

#[test]
fn texts_are_found_in_code_and_titles() {
    let code = "// nobody\nlet a = \"nobody\";\nlet b = \"somebody unknown\";\n#[cfg(test)]\nmod tests {\n\"nobody\"";
    let found = |path: &str, text: &str| -> Vec<usize> {
        texts(path, text).filter(|(_, line)| denied_phrases(line).count() > 0).map(|(at, _)| at).collect()
    };
    assert_eq!(found("crates/a/src/b.rs", code), [2]);
    assert_eq!(found("crates/a/tests/b.rs", code), [0_usize; 0]);
    assert_eq!(found("web/tests/a.spec.ts", "say(\"nobody\");\ntest(\"nobody answers\", …"), [2]);
}

#[test]
fn comments_are_found_outside_of_examples() {
    let text = "//! one\nlet x = 1;\n/// ```\n/// two\n/// ```\n    // three\n";
    assert_eq!(comments(text).collect::<Vec<_>>(), [(1, " one"), (6, " three")]);
}

#[test]
fn participles_are_distinguished_from_nouns() {
    assert!(is_participle("src/calling.rs") && is_participle("src/taking_up_waiting.rs"));
    assert!(!is_participle("src/logging.rs") && !is_participle("src/call.rs"));
}

#[test]
fn tuple_parameters_are_found_in_signatures() {
    let text = "fn a((x, y): (u8, u8)) {}\nfn b(z: &'a (u8, u8)) {}\nfn c<T: Fn(u8) -> u8>(\n    q: u8,\n    \
        (x, y): Pair,\n) {}\nfn d(x: &[(u8, u8)], y: &(dyn A + 'a), z: ()) -> (u8, u8) {}\nfn e((x, y) in f()) {}\n";
    assert_eq!(tuple_parameters(text), ["a", "b", "c"]);
}

#[test]
fn declared_names_are_found() {
    let text = "pub(crate) struct Purse {\n// struct Visitor\nconst fn told() {}\nfn told_once() {}\
        \nstatic MOST_BYTES: usize = 1;\nenum NotePlace {\n";
    assert_eq!(denied_names(text).collect::<Vec<_>>(), ["Purse", "told", "MOST_BYTES", "NotePlace"]);
    assert_eq!(public_types("pub struct A;\npub enum B<T> {\nstruct C;\n").collect::<Vec<_>>(), ["A", "B"]);
}
