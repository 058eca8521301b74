//! Skills that were loaded in a part of a history which a summary is to stand for. Their instructions are in no prompt, so
//! an agent that goes on without that part would not know any more how to do what it had begun.

use std::collections::{BTreeMap, BTreeSet};

use foreword_prompt::untrusted::single_line;
use serde_json::{Value, json};

use crate::id::CallId;
use crate::message::{ContentBlock, Kind, Message};

/// The tool that loads a skill.
const SKILL_GET: &str = "skill_get";
/// The type of the block in which a summary keeps which skills it says again. It is never sent.
const SKILLS: &str = "skills";
/// The longest name that is shown.
const SHOWN_NAME: usize = 64;

/// The skills that were loaded within `messages`, or said again by a summary in them: each once, the newest first.
#[must_use]
pub fn skills_loaded(messages: &[Message]) -> Vec<String> {
    let mut asked: BTreeMap<&CallId, &str> = BTreeMap::new();
    let mut loaded: Vec<&str> = Vec::new();
    for message in messages.iter().map(|message| &message.message) {
        for block in &message.content {
            match block {
                ContentBlock::ToolCall { id, name, input } => {
                    // An id can come again, and then it is another call.
                    asked.remove(id);
                    if let Some(skill) = input["name"].as_str().filter(|_| name == SKILL_GET) {
                        asked.insert(id, skill);
                    }
                }
                ContentBlock::ToolResult { call, is_error, .. } => {
                    loaded.extend(asked.remove(call).filter(|_| !is_error));
                }
                ContentBlock::Other(value) if message.kind == Kind::Summary && value["type"] == SKILLS => {
                    let names = value["names"].as_array().map(Vec::as_slice).unwrap_or_default();
                    loaded.extend(names.iter().rev().filter_map(Value::as_str));
                }
                ContentBlock::Text { .. } | ContentBlock::Other(_) => {}
            }
        }
    }
    let mut seen = BTreeSet::new();
    loaded.into_iter().rev().filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}

/// A skill that was loaded, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    /// Its name.
    pub name: String,
    /// What it says now, and how many tokens that takes. `None` if it can't be loaded any more.
    pub text: Option<(String, usize)>,
}

/// What stands behind a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SaidAgain {
    /// The words.
    pub text: String,
    /// Which skills it is about, for the summary after this one. Never sent.
    pub note: ContentBlock,
}

/// What is said again of skills that were loaded, the newest first, in at most `room` tokens. `None` if none were.
///
/// ```
/// use foreword_core::compaction::{LoadedSkill, said_again};
/// let bread = LoadedSkill { name: "bread".into(), text: Some(("# bread\n\nFlour, water, salt.".into(), 9)) };
/// let tea = LoadedSkill { name: "tea".into(), text: None };
/// let again = said_again(&[bread, tea], 1_000).unwrap();
/// assert!(again.text.contains("# bread\n\nFlour, water, salt."));
/// assert!(again.text.ends_with("Loaded then, and not there any more: `tea`."));
/// ```
#[must_use]
pub fn said_again(loaded: &[LoadedSkill], room: usize) -> Option<SaidAgain> {
    if loaded.is_empty() {
        return None;
    }
    let (mut left, mut texts, mut too_long, mut gone) = (room, Vec::new(), Vec::new(), Vec::new());
    for LoadedSkill { name, text } in loaded {
        match text {
            Some((text, tokens)) if *tokens <= left => {
                left -= tokens;
                texts.push(text.as_str());
            }
            Some(_) => too_long.push(name.as_str()),
            None => gone.push(name.as_str()),
        }
    }
    let mut parts: Vec<String> = Vec::new();
    if !texts.is_empty() {
        parts.push("Skills you had loaded before this point, as they are written now:".to_owned());
        parts.extend(texts.into_iter().map(str::to_owned));
    }
    if !too_long.is_empty() {
        let names = listed(&too_long);
        parts.push(format!(
            "Loaded then, and too long to repeat here: {names}. Load what you need again with `{SKILL_GET}`."
        ));
    }
    if !gone.is_empty() {
        parts.push(format!("Loaded then, and not there any more: {}.", listed(&gone)));
    }
    let there: Vec<&str> =
        loaded.iter().filter(|skill| skill.text.is_some()).map(|skill| skill.name.as_str()).collect();
    let note = ContentBlock::Other(json!({ "type": SKILLS, "names": there }));
    Some(SaidAgain { text: parts.join("\n\n"), note })
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> =
        names.iter().map(|name| format!("`{}`", single_line(name, SHOWN_NAME))).collect();
    names.join(", ")
}
