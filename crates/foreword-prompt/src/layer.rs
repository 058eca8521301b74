//! A layer of a prompt: its position in the four orders (authority, stability, author order, trust), the source of its
//! text, and its overflow behaviour. Parsed values only; the written form is in [`crate::blueprint::spec`].

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::trust::Trust;

/// The name of a layer within its blueprint, such as `soul`, `6` or `workspace/TOOLS.md`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct LayerId(Arc<str>);

impl LayerId {
    /// A layer's name as written: letters, digits, `_`, `-`, `.` and `/`.
    ///
    /// ```
    /// use foreword_prompt::layer::LayerId;
    /// assert!(LayerId::parse("user_context").is_some());
    /// assert!(LayerId::parse("two words").is_none());
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        (!text.is_empty() && text.len() <= 128 && text.chars().all(allowed)).then(|| Self(text.into()))
    }

    /// The name of one file's layer made from this one: `workspace` and `TOOLS.md` give `workspace/TOOLS.md`.
    #[must_use]
    pub fn for_file(&self, path: &str) -> Self {
        Self(format!("{}/{path}", self.0).into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for LayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0)
    }
}

/// Which layer wins when two disagree. The first is the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Authority {
    /// Rules nothing overrides. Never cut.
    Policy,
    /// Who the agent is.
    Identity,
    /// What the owner wants done, and how.
    Instructions,
    /// What is true here and now.
    Context,
    /// Information only; never an order.
    Data,
}

/// How long a layer's bytes stay the same; also the physical order: the most stable comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Stability {
    /// The same for every agent and everybody.
    Static,
    /// The same for all conversations of one agent at one trust.
    Agent,
    /// Frozen when a conversation's epoch opens.
    Conversation,
    /// Rendered fresh every turn, and only appended.
    Turn,
}

impl Stability {
    /// The word in configuration and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Agent => "agent",
            Self::Conversation => "conversation",
            Self::Turn => "turn",
        }
    }
}

impl fmt::Display for Stability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a user's file and the built-in text for the same layer go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Merge {
    /// A file that exists wins, even when it is blank.
    Replace,
    /// The built-in text, then the file, unless the file starts with `<!-- override -->`.
    Append,
    /// A file with something in it wins; a blank or missing one leaves the built-in text.
    #[default]
    Fallback,
}

/// What happens to a layer that does not fit its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Overflow {
    /// The build fails and names the layer.
    #[default]
    Reject,
    /// The middle is cut out, line by line, and a marker says what is missing and how to read it.
    HeadTail,
    /// The text leaves the prompt and becomes a priced line of the memory menu.
    Menu,
}

/// The language a template is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Dialect {
    /// `[type:name]` and `[if type:name]`; unknown types stay literal text.
    #[default]
    Bracket,
    /// The bracket dialect where every unknown `[type:name]` is blank.
    BracketCompat,
    /// Jinja, strict.
    Jinja,
}

/// Text a blueprint makes from what the workspace offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Generated {
    /// The tools this person may use, one line each.
    Tools,
    /// The tools with their parameters.
    ToolsWithParameters,
    /// The workflows that can be run.
    Workflows,
    /// The skills that can be loaded, by name and description.
    Skills,
    /// Instructions given for this conversation alone.
    Session,
}

/// Text made fresh for each turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Dynamic {
    /// Date, time, model, channel, who is speaking.
    Runtime,
    /// The priced menu of memory files.
    MemoryMenu,
    /// A self-supporting agent's state, obligations, senders, memory and tools.
    Situation,
}

/// Where a file layer's file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSource {
    /// The path below the workspace; `{family}` is replaced by the channel's family, `{user}` by the user's name.
    pub path: String,
    /// Whether the build fails without it.
    pub required: bool,
    /// Who may see it if no file rule applies.
    pub unlisted: Trust,
    /// The built-in text used instead of it or before it; `{family}` is replaced here too.
    pub builtin: Option<String>,
}

/// Which entries of `prompt.files` a layer takes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileSelection {
    /// Only these paths, if any are named.
    pub only: Vec<String>,
    /// Never these paths.
    pub except: Vec<String>,
    /// Whether it takes the per-user files, or the others.
    pub per_user: bool,
}

impl FileSelection {
    /// Whether the selection includes a file of this path.
    #[must_use]
    pub fn takes(&self, path: &str, per_user: bool) -> bool {
        let is_named = |paths: &[String]| paths.iter().any(|named| named == path);
        per_user == self.per_user && (self.only.is_empty() || is_named(&self.only)) && !is_named(&self.except)
    }
}

/// Where a layer's text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Compiled into the program.
    Builtin {
        /// The name of the text.
        name: String,
        /// Whether the instructions of the active skills follow it.
        active_skills: bool,
    },
    /// Written in the blueprint.
    Text(Arc<str>),
    /// One file of the workspace.
    File(FileSource),
    /// A layer for each of the files in `prompt.files` that the selection takes.
    Files(FileSelection),
    /// The overlay file of the situation.
    Overlay,
    /// A template file, rendered once per epoch.
    Template {
        /// The file; `None` for the configured `prompt.template_file`, or the stored template.
        path: Option<String>,
        /// Its language; `None` for the configured `prompt.dialect`.
        dialect: Option<Dialect>,
    },
    /// An agent's instructions: inline, from a file, or from a file named after the agent.
    Instructions,
    /// A text the agent may edit, initially the built-in one.
    Stored {
        /// The built-in default text.
        default: String,
    },
    /// Made from tools, workflows or skills.
    Generated(Generated),
    /// Made each turn.
    Dynamic(Dynamic),
}

impl Source {
    /// The name of this kind of source in reports.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Builtin { .. } => "builtin",
            Self::Text(_) => "text",
            Self::File(_) | Self::Files(_) | Self::Overlay | Self::Instructions => "file",
            Self::Template { .. } => "template",
            Self::Stored { .. } => "stored",
            Self::Generated(_) => "generated",
            Self::Dynamic(_) => "dynamic",
        }
    }
}

/// The limits of one layer, in tokens, and its priority when the prompt does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// What happens when it does not fit.
    pub overflow: Overflow,
    /// From 0 to 100: the lowest is cut first.
    pub priority: u8,
    /// Never cut below this.
    pub min_tokens: usize,
    /// Never more than this.
    pub max_tokens: Option<usize>,
}

/// A layer the agent may rewrite, and how long its text may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mutable {
    /// The most characters it may hold.
    pub max_chars: usize,
}

/// One layer of a blueprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Its name.
    pub id: LayerId,
    /// Its name for people.
    pub title: String,
    /// Which layer wins a conflict.
    pub authority: Authority,
    /// How long its bytes stay the same.
    pub stability: Stability,
    /// Who may see it.
    pub trust: Trust,
    /// Where its text comes from.
    pub source: Source,
    /// The line before its text, if there is text.
    pub heading: Option<String>,
    /// How file and built-in text go together.
    pub merge: Merge,
    /// What happens when it does not fit.
    pub fit: Fit,
    /// Whether the agent may rewrite it.
    pub mutable: Option<Mutable>,
    /// Its one-line replacement in a compact prompt; `None` keeps it whole.
    pub compact: Option<String>,
}
