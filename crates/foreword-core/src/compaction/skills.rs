//! Repeats skills that were loaded in the compacted part of a history. Their instructions are in no prompt, so the
//! agent would otherwise lose them.

use std::collections::{BTreeMap, BTreeSet};

use foreword_prompt::untrusted::single_line;
use serde_json::{Value, json};

use crate::id::CallId;
use crate::message::{ContentBlock, Kind, Message};

/// The tool that loads a skill.
const SKILL_GET: &str = "skill_get";
/// The type of the internal block that lists the skills a summary repeats. It is never sent.
const SKILLS: &str = "skills";
/// The maximum length of a skill name in the text.
const MAX_NAME_CHARS: usize = 64;

/// The skills that were loaded in `messages` or repeated by a summary in them: each once, the newest first.
#[must_use]
pub fn skills_loaded(messages: &[Message]) -> Vec<String> {
    let mut asked: BTreeMap<&CallId, &str> = BTreeMap::new();
    let mut loaded: Vec<&str> = Vec::new();
    for message in messages.iter().map(|message| &message.message) {
        for block in &message.content {
            match block {
                ContentBlock::ToolCall { id, name, input } => {
                    // A reused id belongs to a new call.
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

/// A loaded skill with its current text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    /// The name.
    pub name: String,
    /// The current text and its size in tokens; `None` if the skill no longer exists.
    pub text: Option<(String, usize)>,
}

/// The text that follows a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillReminder {
    /// The text.
    pub text: String,
    /// Lists the skills, for the next summary. Never sent.
    pub note: ContentBlock,
}

/// The text that repeats loaded skills, the newest first, in at most `room` tokens. `None` if there are none.
///
/// ```
/// use foreword_core::compaction::{LoadedSkill, skill_reminder};
/// let bread = LoadedSkill { name: "bread".into(), text: Some(("# bread\n\nFlour, water, salt.".into(), 9)) };
/// let tea = LoadedSkill { name: "tea".into(), text: None };
/// let again = skill_reminder(&[bread, tea], 1_000).unwrap();
/// assert!(again.text.contains("# bread\n\nFlour, water, salt."));
/// assert!(again.text.ends_with("Loaded then, and not there any more: `tea`."));
/// ```
#[must_use]
pub fn skill_reminder(loaded: &[LoadedSkill], room: usize) -> Option<SkillReminder> {
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
    Some(SkillReminder { text: parts.join("\n\n"), note })
}

fn listed(names: &[&str]) -> String {
    let names: Vec<String> =
        names.iter().map(|name| format!("`{}`", single_line(name, MAX_NAME_CHARS))).collect();
    names.join(", ")
}
