//! Skills: `skills/<name>/SKILL.md` for all users, `users/<user>/skills/<name>/SKILL.md` for one user. An invalid skill
//! is reported and skipped. Does not execute skills.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_saphyr::Spanned;

use crate::document::{DocumentError, YamlSource};
use crate::error::WorkspaceError;
use crate::front_matter::FrontMatter;
use crate::loaded::Loaded;
use crate::roots::Root;
use crate::text_pool::FileCache;
use foreword_prompt::file_rules::plain_path;
use foreword_prompt::text::ContentHash;

const MAX_NAME_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// A skill: instructions an agent loads on demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name, which is the name of its folder.
    pub name: String,
    /// When to use it, in one line.
    pub description: String,
    /// The text of `SKILL.md` below its front matter.
    pub body: Arc<str>,
    /// The path of `SKILL.md` below the workspace.
    pub path: String,
    /// The path that `path` resolves to; `None` if it can't be located. Part of the skill, so that a link to another
    /// file is a change.
    pub real_path: Option<String>,
    /// The hash of the whole file.
    pub hash: ContentHash,
}

/// The common skills by name.
#[must_use]
pub fn load_skills(root: &Root, cache: &FileCache) -> Loaded<Skill> {
    load_from(root, cache, "skills")
}

/// The skills of `user` by name. Empty if `user` is not a valid folder name.
#[must_use]
pub fn load_user_skills(root: &Root, cache: &FileCache, user: &str) -> Loaded<Skill> {
    if user.is_empty() || user.contains('/') || user == "." {
        return Loaded::default();
    }
    load_from(root, cache, &format!("users/{user}/skills"))
}

/// The skills available to a user, by name. The user's own skill replaces a common one with the same name.
#[must_use]
pub fn skills_of_user<'a>(everybody: &'a [Skill], own: &'a [Skill]) -> Vec<&'a Skill> {
    let by_name: BTreeMap<&str, &Skill> =
        everybody.iter().chain(own).map(|skill| (skill.name.as_str(), skill)).collect();
    by_name.into_values().collect()
}

/// The maximum number of files looked up per skill.
const MAX_FILES: usize = 50;

/// Possible file names mentioned in `body`: in backticks, then as link targets. Their existence is not checked.
///
/// ```
/// use foreword_workspace::skills::mentioned_files;
/// let body = "Times are in `times.md`; see [pots](pots/list.md), not https://example.com or `cargo test`.";
/// assert_eq!(mentioned_files(body), ["times.md", "pots/list.md"]);
/// ```
#[must_use]
pub fn mentioned_files(body: &str) -> Vec<String> {
    let quoted = body.split('`').skip(1).step_by(2);
    let linked = body.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
    let mut found = Vec::new();
    for written in quoted.chain(linked) {
        let is_word = !written.contains(char::is_whitespace) && !written.contains("://");
        let Some(path) = plain_path(written).ok().filter(|_| is_word) else { continue };
        // Most words in backticks are not files: a file name has an extension or a folder.
        if path.contains(['.', '/']) && !found.contains(&path) {
            found.push(path);
        }
    }
    found.truncate(MAX_FILES);
    found
}

#[derive(Deserialize)]
struct SkillCard {
    name: Spanned<String>,
    description: Spanned<String>,
}

fn load_from(root: &Root, cache: &FileCache, directory: &str) -> Loaded<Skill> {
    let mut loaded = Loaded::default();
    match root.list_dirs(directory) {
        Ok(folders) => {
            for folder in folders {
                loaded.push(load_skill(root, cache, directory, &folder));
            }
        }
        Err(problem) => loaded.problems.push(problem),
    }
    loaded
}

fn load_skill(
    root: &Root,
    cache: &FileCache,
    directory: &str,
    folder: &str,
) -> Result<Skill, WorkspaceError> {
    let path = format!("{directory}/{folder}/SKILL.md");
    let file = cache.read(root, &path)?;
    let divided = FrontMatter::split(&path, file.text);
    let source = divided.source();
    let Some(card) = divided.parse::<SkillCard>()? else {
        return Err(no_front_matter(&divided, &source, folder).into());
    };
    check_name(&source, &card.name, folder)?;
    let description = checked_description(&source, &card.description)?;
    let body = cache.pool().intern(divided.body());
    let real_path = root.locate(&path).ok();
    Ok(Skill { name: card.name.value, description, body, path, real_path, hash: file.hash })
}

fn no_front_matter(divided: &FrontMatter, source: &YamlSource, folder: &str) -> DocumentError {
    let (message, help) = if divided.is_unclosed() {
        ("the front matter is not closed", "end it with a line `---`".to_owned())
    } else {
        let card = format!("`---`, `name: {folder}`, `description: …`, `---`");
        ("a skill needs front matter", format!("begin the file with the lines {card}"))
    };
    source.problem(serde_saphyr::Location::UNKNOWN, message.to_owned(), Some(help))
}

fn check_name(source: &YamlSource, name: &Spanned<String>, folder: &str) -> Result<(), DocumentError> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let length = name.value.chars().count();
    if length == 0 || length > MAX_NAME_CHARS || !name.value.chars().all(is_plain) {
        let message = format!("`name` must be 1 to {MAX_NAME_CHARS} of the characters `a-z`, `0-9` and `-`");
        let help = "rename the skill, and its folder with it".to_owned();
        return Err(source.problem(name.referenced, message, Some(help)));
    }
    if name.value != folder {
        let message = format!("`name` is `{}` but the folder is `{folder}`", name.value);
        let help = format!("write `name: {folder}`, or rename the folder to `{}`", name.value);
        return Err(source.problem(name.referenced, message, Some(help)));
    }
    Ok(())
}

/// Folded YAML text ends with a line break, so it is trimmed before the lines are counted.
fn checked_description(source: &YamlSource, written: &Spanned<String>) -> Result<String, DocumentError> {
    let description = written.value.trim();
    let length = description.chars().count();
    let (message, help) = if description.is_empty() {
        ("`description` is empty".to_owned(), "describe in one line when to use the skill")
    } else if description.chars().any(char::is_control) {
        ("`description` must be a single line".to_owned(), "put the rest into the body of the file")
    } else if length > MAX_DESCRIPTION_CHARS {
        let message =
            format!("`description` has {length} characters, at most {MAX_DESCRIPTION_CHARS} are allowed");
        (message, "put the rest into the body of the file")
    } else {
        return Ok(description.to_owned());
    };
    Err(source.problem(written.referenced, message, Some(help.to_owned())))
}
