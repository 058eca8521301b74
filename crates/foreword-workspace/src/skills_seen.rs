//! Which skills somebody of a trust may see, and what they are given of one: its instructions, and where the files are
//! that it mentions. The rules for files are asked of each path as it is written and of the one it leads to.

use foreword_prompt::trust::Trust;

use crate::path_trust::Access;
use crate::skills::{Skill, mentioned_files, skills_of_user};
use crate::snapshot::Snapshot;

/// The tool that reads what a skill mentions.
const READ_FILE: &str = "read_file";

/// Skills as somebody sees them.
#[derive(Debug, Clone, Copy)]
pub struct SkillView<'a> {
    /// The workspace.
    pub snapshot: &'a Snapshot,
    /// Who looks.
    pub user: Option<&'a str>,
    /// How far they are trusted where they are.
    pub trust: Trust,
}

impl SkillView<'_> {
    /// Everybody's skills and their own, by name.
    #[must_use]
    pub fn skills(&self) -> Vec<Skill> {
        // A user's own skills say something about the user, so they need the trust that per-user files need.
        let user = self.user.filter(|_| self.trust.permits(Trust::Inner));
        let own = user.map(|user| self.snapshot.user_skills(user));
        let own = own.as_ref().map_or(&[][..], |own| &own.items);
        let seen = skills_of_user(&self.snapshot.skills().items, own).into_iter();
        // As the prompt decides it. What can't be found is not offered.
        seen.filter(|skill| self.may(&skill.path, Trust::Public) == Some(true)).cloned().collect()
    }

    /// Whether a file may be had, where one that no rule is about needs `unruled`. `None` if there is no such file.
    fn may(&self, path: &str, unruled: Trust) -> Option<bool> {
        // What any agent's rules keep closed, no other agent opens.
        let snapshot = self.snapshot;
        let permits =
            |path: &str| snapshot.needed(path, self.user, Access::Text).permits(self.trust, unruled);
        let real = self.snapshot.files().root.locate(path).ok()?;
        Some(permits(path) && permits(&real))
    }

    fn reads_files(&self) -> bool {
        self.snapshot.config.tools_at(self.trust, &[]).iter().any(|tool| tool.name == READ_FILE)
    }

    /// A skill as it is loaded: what it says, and how the files are read that it mentions.
    #[must_use]
    pub fn text(&self, skill: &Skill) -> String {
        let mut text = format!("# {}\n\n{}", skill.name, skill.body.trim());
        let folder = skill.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let (mut there, mut withheld) = (Vec::new(), Vec::new());
        for written in mentioned_files(&skill.body) {
            let beside = format!("{folder}/{written}");
            // A file beside the skill is meant before one at the workspace's root.
            let found = [beside.as_str(), written.as_str()]
                .into_iter()
                .find_map(|path| Some((path, self.may(path, Trust::Inner)?)));
            match found {
                Some((path, true)) if self.reads_files() => {
                    there.extend((path != written).then(|| format!("`{written}` is `{path}`")));
                }
                // A file elsewhere that is withheld is not even there.
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
