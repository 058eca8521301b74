//! Which workspace files a tool may read and write at a trust, and which of them are prompt sources. Decides by path
//! only; callers check both the written and the resolved path.

use std::path::Path;

use foreword_prompt::file_rules::FileRequirement;
use foreword_prompt::layer::Source;
use foreword_prompt::trust::Trust;
use foreword_workspace::config::{AgentEntry, CONFIG_FILE, Config, plain};
use foreword_workspace::path_trust::{Access, is_below, takes};
use foreword_workspace::snapshot::Snapshot;

use crate::tool::ToolCall;

/// Folders whose files are prompt sources.
const PROMPT_FOLDERS: [&str; 6] = ["users", "channels", "prompts", "skills", "workflows", "memory"];

/// A user's file access.
pub(super) struct FileAccess<'a> {
    snapshot: &'a Snapshot,
    config: &'a Config,
    user: Option<&'a str>,
    trust: Trust,
    /// The database, if it is in the workspace. Tools never access it.
    database: Option<String>,
}

impl<'a> FileAccess<'a> {
    pub(super) fn of(call: &'a ToolCall) -> Self {
        let database = call.store.location().path().and_then(|path| below(path, call.workspace.directory()));
        let snapshot = &*call.snapshot;
        Self { snapshot, config: &snapshot.config, user: call.user.as_deref(), trust: call.trust, database }
    }

    /// Whether the file at `path` may be read. A file without a rule needs `inner`.
    pub(super) fn may_read(&self, path: &str) -> bool {
        let plain = plain(path);
        if self.is_database(&plain) {
            return false;
        }
        if self.trust.permits(Trust::Full) {
            // The owner may read the files of all users, except files in `memory/` outside the stores.
            let is_a_users = |path: &str| path.starts_with("users/");
            return is_a_users(&plain)
                || self.config.in_own_folders(&plain).any(is_a_users)
                || self.required_trust(&plain) != FileRequirement::Never;
        }
        self.required_trust(&plain).permits(self.trust, Trust::Inner)
    }

    /// Whether the file at `path` may be written. Only the owner can change prompt sources.
    pub(super) fn may_write(&self, path: &str) -> bool {
        self.may_read(path) && (self.trust.permits(Trust::Full) || !self.is_of_the_prompt(path))
    }

    /// Whether the file at `path` is a prompt source, so that its text is the owner's.
    pub(super) fn is_of_the_prompt(&self, path: &str) -> bool {
        let plain = plain(path);
        let is_of_one = |plain: &str| self.members().any(|agent| self.is_of_the_prompt_of(agent, plain));
        // A file in an agent's own folder is treated like the file with the same path outside.
        is_of_one(&plain) || self.config.in_own_folders(&plain).any(is_of_one)
    }

    fn members(&self) -> impl Iterator<Item = &'a AgentEntry> {
        self.config.roster.members().iter()
    }

    fn is_of_the_prompt_of(&self, agent: &AgentEntry, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let in_folder = parts.len() > 1 && PROMPT_FOLDERS.contains(&parts[0]);
        let for_agents = parts.starts_with(&[".agents", "prompt"]) && parts.len() > 2;
        let prompt = &agent.prompt;
        let listed = prompt.files.iter().any(|rule| !rule.per_user && rule.path == path);
        let named = [
            prompt.template_file.as_deref(),
            Some(prompt.identity_file.as_str()),
            Some(prompt.custom_instructions_file.as_str()),
        ];
        let named = named.into_iter().flatten().any(|name| plain(name) == path);
        let overlay = |overlay: &str| plain(overlay) == path;
        let overlay = self.config.situations.values().filter_map(|one| one.overlay.as_deref()).any(overlay);
        let prompts_dir = prompt.prompts_dir.as_deref().is_some_and(|folder| is_below(path, &plain(folder)));
        let layer = agent.layers.layers.iter().any(|layer| takes(layer, path));
        path == CONFIG_FILE || in_folder || for_agents || listed || named || overlay || prompts_dir || layer
    }

    /// Whether the file at `path` is the database, or one of its companion files.
    pub(super) fn is_database(&self, path: &str) -> bool {
        let Some(database) = &self.database else { return false };
        let rest = plain(path).strip_prefix(database.as_str()).map(str::to_owned);
        rest.is_some_and(|rest| ["", "-wal", "-shm", "-journal"].contains(&rest.as_str()))
    }

    /// Whether all files below `folder` have the same access, regardless of their names.
    pub(super) fn is_of_one_mind_about(&self, folder: &str) -> bool {
        let folder = plain(folder);
        let own = |agent: &AgentEntry| {
            agent.files.as_deref().is_some_and(|own| own == folder || is_below(own, &folder))
        };
        // Files in an agent's own folder follow the rules of the same path outside.
        !self.members().any(own)
            && self.is_one_for_all(&folder)
            && self.config.in_own_folders(&folder).all(|rest| self.is_one_for_all(rest))
    }

    fn is_one_for_all(&self, folder: &str) -> bool {
        self.members().all(|agent| self.is_one_for(agent, folder))
    }

    fn is_one_for(&self, agent: &AgentEntry, folder: &str) -> bool {
        let parts: Vec<&str> = folder.split('/').collect();
        if matches!(parts.as_slice(), ["memory" | "users" | "workflows" | ".agents"] | ["users", _]) {
            return false;
        }
        let prompt = &agent.prompt;
        let own = |path: &str| self.user.map(|user| format!("users/{user}/{path}"));
        let rules = prompt
            .files
            .iter()
            .filter_map(|rule| if rule.per_user { own(&rule.path) } else { Some(rule.path.clone()) });
        let overlays = self.config.situations.values().filter_map(|one| one.overlay.as_deref().map(plain));
        let named = [
            self.database.clone(),
            prompt.template_file.as_deref().map(plain),
            Some(plain(&prompt.identity_file)),
            Some(plain(&prompt.custom_instructions_file)),
            prompt.prompts_dir.as_deref().map(|folder| format!("{}/any", plain(folder))),
        ];
        let layers = agent.layers.layers.iter().filter_map(|layer| match &layer.source {
            // A placeholder may match anything, including a folder, so only the part before it counts.
            Source::File(file) => Some(plain(file.path.split('{').next().unwrap_or_default()) + "/any"),
            Source::Template { path: Some(path), .. } => Some(plain(path)),
            _ => None,
        });
        let mut special = rules.chain(overlays).chain(named.into_iter().flatten()).chain(layers);
        !special.any(|path| is_below(&path, folder))
    }

    fn required_trust(&self, plain: &str) -> FileRequirement {
        self.snapshot.required_trust(plain, self.user, Access::Text)
    }
}

/// The path of `path` relative to `folder`.
fn below(path: &Path, folder: &Path) -> Option<String> {
    let found = path.strip_prefix(folder).ok().map(Path::to_path_buf).or_else(|| {
        let (path, folder) = (path.canonicalize().ok()?, folder.canonicalize().ok()?);
        path.strip_prefix(folder).ok().map(Path::to_path_buf)
    });
    found.map(|path| plain(&path.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use foreword_workspace::workspace::{Environment, Workspace};

    use super::*;

    fn access(snapshot: &Snapshot, trust: Trust) -> FileAccess<'_> {
        let (config, database) = (&snapshot.config, Some("data/house.db".to_owned()));
        FileAccess { snapshot, config, user: Some("alice"), trust, database }
    }

    fn snapshot() -> (tempfile::TempDir, Arc<Snapshot>) {
        let folder = tempfile::tempdir().unwrap();
        let yaml = "users: [{ name: alice, trust: full }]\nsituations: { group: { prompt_overlay: rules/group.md } }\n\
                    prompt: { template_file: house.jinja }\n";
        std::fs::write(folder.path().join(CONFIG_FILE), yaml).unwrap();
        std::fs::create_dir(folder.path().join("workflows")).unwrap();
        let workflow = |trust: &str| {
            format!("name: w{}\ndescription: Works.\n{trust}steps: [{{ prompt: Hello. }}]\n", trust.len())
        };
        for (name, trust) in [("open", ""), ("close", "trust: full\n"), ("broken", "trust: {\n")] {
            std::fs::write(folder.path().join(format!("workflows/{name}.yaml")), workflow(trust)).unwrap();
        }
        let workspace = Workspace::open(folder.path(), Environment::default()).unwrap();
        (folder, workspace.snapshot())
    }

    #[test]
    fn prompt_files_need_their_rule_and_others_inner_trust() {
        let (_folder, snapshot) = snapshot();
        let check = |path: &str, expected: [bool; 4]| {
            let trusts = [Trust::Public, Trust::Familiar, Trust::Inner, Trust::Full];
            assert_eq!(trusts.map(|trust| access(&snapshot, trust).may_read(path)), expected, "{path}");
        };
        check("notes.md", [false, false, true, true]);
        check("SOUL.md", [false, true, true, true]);
        check("./SOUL.md", [false, true, true, true]);
        check("MEMORY.md", [false, false, false, true]);
        check("memory/social/people.md", [false, true, true, true]);
        check("memory/shared//trips.md", [false, false, true, true]);
        check("memory/private/plan.md", [false, false, false, true]);
        check("memory/odd/plan.md", [false; 4]);
        check("users/alice/notes.md", [false, false, true, true]);
        check("users/bob/notes.md", [false, false, false, true]);
        check("foreword.yaml", [false, false, false, true]);
        check(".//foreword.yaml", [false, false, false, true]);
        check("workflows/open.yaml", [false, false, true, true]);
        check("./workflows//close.yaml", [false, false, false, true]);
        check("workflows/broken.yaml", [false, false, false, true]);
        check("house.jinja", [false, false, false, true]);
        check("rules/group.md", [false, false, false, true]);
        check("rules/other.md", [false, false, true, true]);
        check(".agents/prompt/ADA.md", [false, false, false, true]);
        check("data/house.db", [false; 4]);
        check("data//house.db-wal", [false; 4]);
        check("data/house.db.md", [false, false, true, true]);
    }

    #[test]
    fn writing_prompt_sources_needs_the_owner() {
        let (_folder, snapshot) = snapshot();
        for path in
            ["SOUL.md", "skills/x/SKILL.md", "memory/shared/x.md", "users/alice/x.md", "channels/signal.md"]
        {
            assert!(!access(&snapshot, Trust::Inner).may_write(path), "{path}");
            assert!(access(&snapshot, Trust::Full).may_write(path), "{path}");
        }
        assert!(access(&snapshot, Trust::Inner).may_write("notes.md"));
        assert!(!access(&snapshot, Trust::Familiar).may_write("notes.md"));
        assert!(!access(&snapshot, Trust::Full).may_write("data/house.db"));
    }

    #[test]
    fn prompt_sources_are_owner_text() {
        let (_folder, snapshot) = snapshot();
        let access = access(&snapshot, Trust::Full);
        for path in
            ["SOUL.md", "rules/group.md", ".agents/prompt/ADA.md", "workflows/x.yaml", "foreword.yaml"]
        {
            assert!(access.is_of_the_prompt(path), "{path}");
        }
        for path in [
            "download.html",
            "memory",
            "skills",
            ".agents/notes.md",
            "rules/other.md",
            "soul.md",
            "src/SOUL.md",
        ] {
            assert!(!access.is_of_the_prompt(path), "{path}");
        }
    }
}
