//! Sections `prompt` and `memory`: the files, budget and placement of the prompt.

use std::collections::BTreeSet;

use foreword_core::price::CacheTtl;
use foreword_prompt::file_rules::plain_path;
use foreword_prompt::layer::Dialect;
use foreword_prompt::plan::FileRule;
use foreword_prompt::prompt::TurnPlacement;
use foreword_prompt::trust::Trust;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::parse::ConfigParser;

/// Prompt settings.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawPrompt {
    /// The workspace files in the prompt, and the trust each needs. Default: SOUL.md, AGENTS.md, TOOLS.md and
    /// IDENTITY.md for `familiar`, USER.md per user for `inner`, MEMORY.md and HEARTBEAT.md for `full`.
    #[schemars(with = "Option<Vec<RawFile>>")]
    pub files: Option<Vec<Spanned<RawFile>>>,
    /// Blueprint `template`: the template file. Default: a small built-in template.
    #[schemars(with = "Option<String>")]
    pub template_file: Option<Spanned<String>>,
    /// The template dialect. Default: `bracket`.
    pub dialect: Option<Dialect>,
    /// Blueprint `agent`: inline instructions. Blank text means no prompt.
    pub instructions: Option<String>,
    /// Blueprint `agent`: the instruction file, below the prompts root.
    #[schemars(with = "Option<String>")]
    pub instruction_file: Option<Spanned<String>>,
    /// Blueprint `agent`: the prompts root. Default: `FOREWORD_PROMPTS_DIR`, else `.agents/prompt`.
    #[schemars(with = "Option<String>")]
    pub prompts_dir: Option<Spanned<String>>,
    /// The size limit of the prompt.
    pub budget: RawBudget,
    /// Provider-side prompt caching.
    pub cache: RawCache,
    /// Where the turn context goes: at the start of the new `message`, or at the end of the `system` prompt. Default:
    /// `message`.
    pub turn_context: Option<TurnPlacement>,
    /// Blueprint `vm`: its files.
    pub system_prompt: RawSystemPrompt,
    /// Absolute paths that `[file:/…]` may read: files, or folders with everything below them.
    #[schemars(with = "Option<Vec<String>>")]
    pub allowed_paths: Option<Vec<Spanned<String>>>,
}

/// A workspace file and the trust it needs.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawFile {
    /// The path below the workspace; for a per-user file, below `users/<name>/`.
    pub path: String,
    /// The trust needed to see it. Default: `full`.
    #[serde(default = "full")]
    pub trust: Trust,
    /// Whether each user has a file of their own.
    #[serde(default)]
    pub per_user: bool,
}

fn full() -> Trust {
    Trust::Full
}

/// The size limit of the prompt.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawBudget {
    /// The maximum number of tokens. Default: 30,000.
    #[schemars(with = "Option<usize>")]
    pub tokens: Option<Spanned<usize>>,
}

/// Provider-side prompt caching.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawCache {
    /// How long the provider caches text that all conversations share, where the provider supports it: `5m` or `1h`.
    /// Default: `5m`. Text of one conversation is cached for five minutes.
    pub ttl: Option<CacheTtl>,
}

/// The files of blueprint `vm`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawSystemPrompt {
    /// The agent's identity as text; `identity_file` is then not read.
    pub identity: Option<String>,
    /// The file with the agent's identity. Default: `system-prompt.md`.
    #[schemars(with = "Option<String>")]
    pub identity_file: Option<Spanned<String>>,
    /// A file with your own instructions, appended last. Default: `instructions.md`.
    #[schemars(with = "Option<String>")]
    pub custom_instructions_file: Option<Spanned<String>>,
}

/// The memory menu.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawMemory {
    /// The maximum size of the menu, in tokens. Default: 2,000.
    pub menu_tokens: Option<usize>,
}

/// Prompt settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptConfig {
    /// The file rules.
    pub files: Vec<FileRule>,
    /// The template file.
    pub template_file: Option<String>,
    /// The template dialect.
    pub dialect: Dialect,
    /// Inline instructions.
    pub instructions: Option<String>,
    /// The file with the instructions.
    pub instruction_file: Option<String>,
    /// The prompts root.
    pub prompts_dir: Option<String>,
    /// The token budget.
    pub budget: usize,
    /// Where the turn context goes.
    pub turn_context: TurnPlacement,
    /// The identity file of blueprint `vm`.
    pub identity_file: String,
    /// The file with the owner's own instructions for blueprint `vm`.
    pub custom_instructions_file: String,
    /// Absolute paths that templates may read.
    pub allowed_paths: Vec<String>,
}

/// The files of the `gateway` convention and who may see them.
const DEFAULT_FILES: [(&str, Trust, bool); 7] = [
    ("SOUL.md", Trust::Familiar, false),
    ("AGENTS.md", Trust::Familiar, false),
    ("TOOLS.md", Trust::Familiar, false),
    ("IDENTITY.md", Trust::Familiar, false),
    ("USER.md", Trust::Inner, true),
    ("MEMORY.md", Trust::Full, false),
    ("HEARTBEAT.md", Trust::Full, false),
];
const DEFAULT_BUDGET: usize = 30_000;

/// Whether `path` is one of the conventional files, which a workspace may lack.
pub(crate) fn is_default_file(path: &str) -> bool {
    DEFAULT_FILES.iter().any(|(known, ..)| *known == path)
}

/// The files of the `gateway` convention.
pub(crate) fn conventional_files() -> impl Iterator<Item = &'static str> {
    DEFAULT_FILES.iter().map(|(path, ..)| *path)
}

impl ConfigParser<'_> {
    pub(super) fn prompt(&mut self, raw: &RawPrompt) -> PromptConfig {
        let files = self.files(raw);
        let budget = match &raw.budget.tokens {
            Some(tokens) if tokens.value == 0 => {
                self.refuse(
                    tokens.defined,
                    "a budget of 0 tokens leaves no prompt".into(),
                    "raise it, or leave it out for 30,000".to_owned(),
                );
                DEFAULT_BUDGET
            }
            Some(tokens) => tokens.value,
            None => DEFAULT_BUDGET,
        };
        let allowed_paths = raw.allowed_paths.as_deref().unwrap_or_default();
        for path in allowed_paths {
            if !path.value.starts_with('/') || path.value.split('/').any(|part| part == "..") {
                let message = format!("`{}` is not an absolute path", path.value.escape_debug());
                self.refuse(path.defined, message, "write the whole path from `/`, without `..`".to_owned());
            }
        }
        let system = &raw.system_prompt;
        let template_file = self.file(raw.template_file.as_ref(), "template");
        let identity_file = self.file(system.identity_file.as_ref(), "file");
        let custom_instructions_file = self.file(system.custom_instructions_file.as_ref(), "file");
        PromptConfig {
            files,
            template_file,
            dialect: raw.dialect.unwrap_or_default(),
            instructions: raw.instructions.clone(),
            instruction_file: raw.instruction_file.as_ref().map(|path| path.value.clone()),
            prompts_dir: raw.prompts_dir.as_ref().map(|path| path.value.clone()),
            budget,
            turn_context: raw.turn_context.unwrap_or_default(),
            identity_file: identity_file.unwrap_or_else(|| "system-prompt.md".into()),
            custom_instructions_file: custom_instructions_file.unwrap_or_else(|| "instructions.md".into()),
            allowed_paths: allowed_paths.iter().map(|path| path.value.clone()).collect(),
        }
    }

    /// The configured file, if there is one.
    pub(super) fn file(&mut self, written: Option<&Spanned<String>>, what: &str) -> Option<String> {
        let written = written?;
        self.path(&written.value, written.defined, what)
    }

    pub(super) fn path(&mut self, path: &str, at: Location, what: &str) -> Option<String> {
        match plain_path(path) {
            Ok(path) => Some(path),
            Err(reason) => {
                let message = format!("{what} `{}`: {reason}", path.escape_debug());
                self.refuse(at, message, "name a file below the workspace".to_owned());
                None
            }
        }
    }

    fn files(&mut self, raw: &RawPrompt) -> Vec<FileRule> {
        let Some(written) = &raw.files else {
            let rule = |(path, trust, per_user): (&str, Trust, bool)| FileRule {
                path: path.to_owned(),
                trust,
                per_user,
            };
            return DEFAULT_FILES.into_iter().map(rule).collect();
        };
        let mut seen = BTreeSet::new();
        let mut rules = Vec::new();
        for file in written {
            let Some(path) = self.path(&file.value.path, file.defined, "file") else { continue };
            if !seen.insert((path.clone(), file.value.per_user)) {
                self.refuse(
                    file.defined,
                    format!("file `{path}` is listed twice"),
                    "keep one of them".to_owned(),
                );
            }
            rules.push(FileRule { path, trust: file.value.trust, per_user: file.value.per_user });
        }
        rules
    }
}
