//! Expands `~/` in the paths of `foreword.yaml` before they are validated. A path below the workspace becomes relative
//! to it; other paths become absolute, which some settings refuse.

use std::path::{Path, PathBuf};

use serde_saphyr::Spanned;

use super::raw::{RawConfig, RawPrompt};

/// The directories used to expand `~/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomePaths {
    /// The home directory of the user who runs the program. Without one, `~/` is not expanded.
    pub home: Option<PathBuf>,
    /// The workspace.
    pub workspace: PathBuf,
}

impl HomePaths {
    /// Replaces a leading `~/` with the home directory.
    fn absolute(&self, path: &mut String) {
        let expanded = |rest: &str| Some(self.home.as_ref()?.join(rest).to_str()?.to_owned());
        if let Some(expanded) = path.strip_prefix("~/").and_then(expanded) {
            *path = expanded;
        }
    }

    /// As `absolute`, but relative to the workspace if the path is below it.
    fn below_workspace(&self, path: &mut String) {
        if !path.starts_with("~/") {
            return;
        }
        self.absolute(path);
        let below = Path::new(path.as_str()).strip_prefix(&self.workspace).ok().and_then(Path::to_str);
        if let Some(below) = below.map(str::to_owned) {
            *path = below;
        }
    }

    fn each_absolute<'a>(&self, paths: impl IntoIterator<Item = &'a mut Spanned<String>>) {
        paths.into_iter().for_each(|path| self.absolute(&mut path.value));
    }

    fn each_below_workspace<'a>(&self, paths: impl IntoIterator<Item = &'a mut Spanned<String>>) {
        paths.into_iter().for_each(|path| self.below_workspace(&mut path.value));
    }

    /// Expands every path of `raw`. `logging.file` is resolved where the log is opened.
    pub(super) fn expand(&self, raw: &mut RawConfig) {
        self.expand_prompt(&mut raw.prompt);
        for (_, agent) in &mut raw.agents.0 {
            self.expand_prompt(&mut agent.prompt);
            self.each_below_workspace(&mut agent.files);
        }
        for situation in raw.situations.values_mut() {
            self.each_below_workspace(&mut situation.value.prompt_overlay);
        }
        let sources = raw.blueprints.values_mut().flat_map(|blueprint| &mut blueprint.layers);
        sources
            .filter_map(|layer| layer.source.value.file.as_mut())
            .for_each(|file| self.below_workspace(file));
        for (_, server) in &mut raw.tools.mcp.0 {
            self.each_absolute(&mut server.command);
            self.each_below_workspace(&mut server.cwd);
        }
        if let Some(state) = &mut raw.agent.state {
            self.each_below_workspace(&mut state.value.file);
            let program = state.value.command.as_mut().and_then(|command| command.value.first_mut());
            program.into_iter().for_each(|program| self.absolute(program));
        }
        self.each_absolute(&mut raw.logging.metrics_file);
        self.each_absolute(raw.server.tls.iter_mut().flat_map(|tls| [&mut tls.certificate, &mut tls.key]));
        if let Some(url) = &mut raw.store.url {
            let path = url.value.strip_prefix("sqlite:").filter(|path| path.starts_with("~/"));
            url.value = path.unwrap_or(&url.value).to_owned();
            self.absolute(&mut url.value);
        }
    }

    fn expand_prompt(&self, prompt: &mut RawPrompt) {
        for file in prompt.files.iter_mut().flatten() {
            self.below_workspace(&mut file.value.path);
        }
        let system = &mut prompt.system_prompt;
        let files =
            [&mut prompt.template_file, &mut system.identity_file, &mut system.custom_instructions_file];
        self.each_below_workspace(files.into_iter().flatten());
        self.each_absolute(&mut prompt.prompts_dir);
        self.each_absolute(prompt.allowed_paths.iter_mut().flatten());
    }
}

#[cfg(test)]
mod tests {
    use foreword_core::store_url::StoreUrl;

    use super::*;
    use crate::config::{CONFIG_FILE, Config};

    fn paths() -> HomePaths {
        HomePaths { home: Some("/home/alice".into()), workspace: "/home/alice/.agent".into() }
    }

    fn parse(yaml: &str) -> Config {
        Config::parse_at(CONFIG_FILE, yaml, &paths()).unwrap()
    }

    #[test]
    fn paths_below_the_workspace_become_relative() {
        let prompt = "prompt:\n  template_file: ~/.agent/t.md\n  files: [{ path: ~/.agent/SOUL.md }]\n  \
            system_prompt:\n    identity_file: ~/.agent/system-prompt.md\n    \
            custom_instructions_file: ~/.agent/instructions.md\n";
        let config = parse(prompt);
        assert_eq!(config.prompt.identity_file, "system-prompt.md");
        assert_eq!(config.prompt.custom_instructions_file, "instructions.md");
        assert_eq!(config.prompt.template_file.as_deref(), Some("t.md"));
        assert_eq!(config.prompt.files[0].path, "SOUL.md");
        let situation = parse("situations: { group: { prompt_overlay: ~/.agent/g.md } }\n");
        assert_eq!(situation.situations["group"].overlay.as_deref(), Some("g.md"));
    }

    #[test]
    fn paths_outside_the_workspace_stay_refused() {
        let problems =
            Config::parse_at(CONFIG_FILE, "prompt: { template_file: ~/t.md }\n", &paths()).unwrap_err();
        assert!(problems[0].message.contains("absolute"), "{}", problems[0].message);
    }

    #[test]
    fn unrestricted_paths_become_absolute() {
        let config = parse(
            "prompt: { prompts_dir: ~/prompts, allowed_paths: [~/notes] }\nstore: { url: ~/x.db }\n\
             logging: { metrics_file: ~/m.prom }\n",
        );
        assert_eq!(config.prompt.prompts_dir.as_deref(), Some("/home/alice/prompts"));
        assert_eq!(config.prompt.allowed_paths, ["/home/alice/notes"]);
        assert_eq!(config.store_url, StoreUrl::File("/home/alice/x.db".to_owned()));
        assert_eq!(config.export.metrics_file.as_deref(), Some("/home/alice/m.prom"));
        let sqlite = parse("store: { url: \"sqlite:~/x.db\" }\n");
        assert_eq!(sqlite.store_url, StoreUrl::File("/home/alice/x.db".to_owned()));
    }
}
