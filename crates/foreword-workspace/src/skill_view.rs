//! The skills a user may see, and a skill's text with the locations of the files it mentions. The file rules are
//! checked for the written and for the resolved path.

use foreword_prompt::trust::Trust;

use crate::path_trust::Access;
use crate::skills::{Skill, mentioned_files, skills_of_user};
use crate::snapshot::Snapshot;

/// The tool that reads the mentioned files.
const READ_FILE: &str = "read_file";

/// The skills as seen by a user.
#[derive(Debug, Clone, Copy)]
pub struct SkillView<'a> {
    /// The workspace.
    pub snapshot: &'a Snapshot,
    /// The user.
    pub user: Option<&'a str>,
    /// The user's effective trust.
    pub trust: Trust,
}

impl SkillView<'_> {
    /// The common skills and the user's own, by name.
    #[must_use]
    pub fn skills(&self) -> Vec<Skill> {
        // A user's own skills reveal something about the user, so they need the same trust as per-user files.
        let user = self.user.filter(|_| self.trust.permits(Trust::Inner));
        let own = user.map(|user| self.snapshot.user_skills(user));
        let own = own.as_ref().map_or(&[][..], |own| &own.items);
        let seen = skills_of_user(&self.snapshot.skills().items, own).into_iter();
        // The same decision as for the prompt. A skill whose file cannot be located is left out.
        seen.filter(|skill| self.may(&skill.path, Trust::Public) == Some(true)).cloned().collect()
    }

    /// Whether a file may be read, where a file without a rule needs `unruled`. `None` if it does not exist.
    fn may(&self, path: &str, unruled: Trust) -> Option<bool> {
        // A file restricted by any agent's rules is restricted for all agents.
        let snapshot = self.snapshot;
        let permits =
            |path: &str| snapshot.required_trust(path, self.user, Access::Text).permits(self.trust, unruled);
        let real = self.snapshot.files().root.locate(path).ok()?;
        Some(permits(path) && permits(&real))
    }

    fn reads_files(&self) -> bool {
        self.snapshot.config.tools_at(self.trust, &[]).iter().any(|tool| tool.name == READ_FILE)
    }

    /// A skill's text as loaded: its instructions, and how to read the files it mentions.
    #[must_use]
    pub fn text(&self, skill: &Skill) -> String {
        let mut text = format!("# {}\n\n{}", skill.name, skill.body.trim());
        let folder = skill.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let (mut there, mut withheld) = (Vec::new(), Vec::new());
        for written in mentioned_files(&skill.body) {
            let beside = format!("{folder}/{written}");
            // A file beside the skill takes precedence over one in the workspace.
            let found = [beside.as_str(), written.as_str()]
                .into_iter()
                .find_map(|path| Some((path, self.may(path, Trust::Inner)?)));
            match found {
                Some((path, true)) if self.reads_files() => {
                    there.extend((path != written).then(|| format!("`{written}` is `{path}`")));
                }
                // A withheld file elsewhere is treated as missing.
                Some((path, _)) if path == beside || path.starts_with(&format!("{folder}/")) => {
                    withheld.push(format!("`{written}`"));
                }
                _ => {}
            }
        }
        if !there.is_empty() {
            text += &format!("\n\nFor `{READ_FILE}`, {}.", there.join(", "));
        }
        if !withheld.is_empty() {
            text += &format!("\n\nNot to be read in this conversation: {}.", withheld.join(", "));
        }
        text
    }
}
