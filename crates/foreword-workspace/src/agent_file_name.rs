//! Derives an agent's prompt file name from the agent's name: `ChatAgent` reads `CHAT_AGENT.md`.
//!
//! The name is split at separators, at changes of case, and before a final `agent`. Acronyms are words of their own,
//! digits belong to the word before them, and letters of any script are kept. The result is a file name and never a
//! path: letters, digits and `_`, then `.md`.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::error::{ResolutionError, WorkspaceError};

/// The maximum length of a file name on common file systems, in bytes.
const MAX_FILE_NAME_BYTES: usize = 255;

/// The file name for an agent called `name`.
///
/// ```
/// use foreword_workspace::agent_file_name::agent_file_name;
/// assert_eq!(agent_file_name("HTTPServerAgent").unwrap(), "HTTP_SERVER_AGENT.md");
/// assert_eq!(agent_file_name("gpt4agent").unwrap(), "GPT4_AGENT.md");
/// assert!(agent_file_name("../..").is_err());
/// ```
///
/// # Errors
/// [`ResolutionError::NoAgentFileName`] when the name has no letter or digit, or the file name would be too long.
pub fn agent_file_name(name: &str) -> Result<String, WorkspaceError> {
    let refuse = |reason| ResolutionError::NoAgentFileName { name: name.to_owned(), reason };
    // NFC, so that both spellings of `é` give the same file name.
    let composed: Vec<char> = name.nfc().collect();
    let words: Vec<String> = composed
        .split(|character| !is_word_character(*character))
        .filter(|chunk| chunk.iter().any(|character| character.is_alphanumeric()))
        .flat_map(split_at_case)
        .flat_map(|word| split_off_agent(&word))
        .collect();
    if words.is_empty() {
        return Err(refuse("it has no letter or digit").into());
    }
    let file_name = format!("{}.md", words.join("_").to_uppercase().nfc().collect::<String>());
    if file_name.len() > MAX_FILE_NAME_BYTES {
        return Err(refuse("it is too long").into());
    }
    Ok(file_name)
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || is_combining_mark(character)
}

/// The case of the last letter. Digits do not change it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Unknown,
    Lower,
    Upper,
}

/// Splits `chatAgent` before `A`, and `HTTPServer` before the last capital that is followed by a lower-case letter.
fn split_at_case(chunk: &[char]) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut case = Case::Unknown;
    for (index, character) in chunk.iter().enumerate() {
        if is_upper(*character) {
            let next_is_lower = chunk.get(index + 1).is_some_and(|next| next.is_lowercase());
            let starts_word = case == Case::Lower || (case == Case::Upper && next_is_lower);
            if starts_word && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            case = Case::Upper;
        } else if character.is_alphabetic() {
            // Scripts without case count as lower case, so that `助手Bot` is two words.
            case = Case::Lower;
        }
        word.push(*character);
    }
    words.push(word);
    words
}

/// Title-case letters such as `ǅ` count as upper case.
fn is_upper(character: char) -> bool {
    character.is_uppercase()
        || (character.is_alphabetic() && !character.is_lowercase() && has_small_form(character))
}

fn has_small_form(character: char) -> bool {
    !character.to_lowercase().eq([character])
}

/// Splits `chatagent`, `CHATAGENTS`, `chatagent2` and `chatagentv2` as if their words had been capitalised.
fn split_off_agent(word: &str) -> Vec<String> {
    let small = word.to_lowercase();
    let numberless = small.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &small[numberless.len()..];
    let (stem, version) = match numberless.strip_suffix('v') {
        Some(stem) if !number.is_empty() => (stem, format!("v{number}")),
        _ => (numberless, String::new()),
    };
    let Some((before, agent)) = ["agent", "agents"]
        .into_iter()
        .find_map(|agent| stem.strip_suffix(agent).map(|before| (before, agent)))
    else {
        return vec![word.to_owned()];
    };
    let agent = if version.is_empty() { format!("{agent}{number}") } else { agent.to_owned() };
    let mut words = if before.is_empty() { Vec::new() } else { split_off_agent(before) };
    words.extend([agent, version].into_iter().filter(|part| !part.is_empty()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn agent_names_map_to_the_fixtures_file_names() {
        let fixture = include_str!("../tests/fixtures/agent_file_names.yaml");
        let expected: BTreeMap<String, Option<String>> = serde_saphyr::from_str(fixture).unwrap();
        assert_eq!(expected.len(), 17);
        for (name, file) in expected {
            assert_eq!(agent_file_name(&name).ok(), file, "{name:?}");
        }
    }

    #[test]
    fn spellings_of_a_name_give_the_same_file() {
        for (spellings, file) in [
            (
                &["ChatAgentV2", "chatagentv2", "CHATAGENTV2", "chat_agent_v2", "chat.agent.v2"][..],
                "CHAT_AGENT_V2.md",
            ),
            (&["ChatAgent2", "chatagent2", "CHATAGENT2", "chat agent2"], "CHAT_AGENT2.md"),
            (&["ChatAgents", "chatagents"], "CHAT_AGENTS.md"),
            (&["GPT4Agent", "gpt4Agent", "gpt4-agent", "GPT4AGENT"], "GPT4_AGENT.md"),
            (&["caf\u{e9}agent", "cafe\u{301}agent", "CaféAgent"], "CAFÉ_AGENT.md"),
            (
                &["my--agent", "  my agent ", "my/agent", "my\\agent", "my\u{200b}agent", "my\nagent"],
                "MY_AGENT.md",
            ),
            (&["agent", "AGENT", "__agent__"], "AGENT.md"),
        ] {
            for spelling in spellings {
                assert_eq!(agent_file_name(spelling).unwrap(), file, "{spelling:?}");
            }
        }
    }

    #[test]
    fn acronyms_and_numbers_stay_whole() {
        for (name, file) in [
            ("parseHTTPRequest", "PARSE_HTTP_REQUEST.md"),
            ("B2BAgent", "B2B_AGENT.md"),
            ("GPT4oAgent", "GPT4O_AGENT.md"),
            ("V2Agent", "V2_AGENT.md"),
            ("3DAgent", "3D_AGENT.md"),
            ("ChatV2Agent", "CHAT_V2_AGENT.md"),
            ("42", "42.md"),
            ("HTTP2Server", "HTTP2_SERVER.md"),
            ("A", "A.md"),
        ] {
            assert_eq!(agent_file_name(name).unwrap(), file, "{name:?}");
        }
    }

    #[test]
    fn letters_of_any_script_are_kept() {
        for (name, file) in [
            ("ПомощникАгент", "ПОМОЩНИК_АГЕНТ.md"),
            ("助手Bot", "助手_BOT.md"),
            ("सहायक agent", "सहायक_AGENT.md"),
            ("straßenAgent", "STRASSEN_AGENT.md"),
            ("ÜberAgent", "ÜBER_AGENT.md"),
            ("हिन्दी", "हिन्दी.md"),
        ] {
            assert_eq!(agent_file_name(name).unwrap(), file, "{name:?}");
        }
    }

    #[test]
    fn empty_or_overlong_names_are_resolution_errors() {
        for name in ["", "   ", "..", "/", "-_-", "🙂", "\u{301}", "\0", &"x".repeat(300)] {
            let error = agent_file_name(name).unwrap_err();
            assert!(
                matches!(&error, WorkspaceError::Resolution(ResolutionError::NoAgentFileName { .. })),
                "{name:?}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn result_is_a_plain_file_name(name in "\\PC{0,40}") {
            if let Ok(file) = agent_file_name(&name) {
                let stem = file.strip_suffix(".md").unwrap();
                assert!(!stem.is_empty() && stem.chars().all(|c| c == '_' || is_word_character(c)), "{file:?}");
                assert!(!stem.starts_with('_') && !stem.ends_with('_') && !stem.contains("__"), "{file:?}");
            }
        }

        #[test]
        fn derived_names_are_stable(name in "[ -~]{0,20}(agent|Agent)?[ -~]{0,20}") {
            if let Ok(file) = agent_file_name(&name) {
                assert_eq!(agent_file_name(file.strip_suffix(".md").unwrap()).unwrap(), file);
            }
        }
    }
}
