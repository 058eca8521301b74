//! The catalogue of template variables, for the editor page, completion and suggestions. Contains no values.

use serde::Serialize;

/// A variable, or a family of variables, that templates can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CatalogEntry {
    /// The type: the part before the colon.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The name: the part after the colon; a placeholder such as `<path>` if the entry is dynamic.
    pub name: &'static str,
    /// The description of the value.
    pub description: &'static str,
    /// Whether any name is a variable of this type.
    pub dynamic: bool,
}

/// All variables.
///
/// ```
/// use foreword_prompt::bracket::catalog;
/// let git: Vec<_> = catalog().iter().filter(|entry| entry.kind == "git").map(|entry| entry.name).collect();
/// assert_eq!(git, ["branch", "status"]);
/// ```
#[must_use]
pub fn catalog() -> &'static [CatalogEntry] {
    CATALOG
}

/// The types of the catalogue, in its order.
pub(super) const KINDS: [&str; 4] = ["system", "prompt", "git", "file"];

const CATALOG: &[CatalogEntry] = &[
    fixed("system", "time", "Current time (ISO 8601, UTC)"),
    fixed("system", "date", "Current date (YYYY-MM-DD)"),
    fixed("system", "os", "Operating system"),
    fixed("system", "hostname", "Name of this machine"),
    fixed("prompt", "cwd", "Working directory of the conversation"),
    fixed("prompt", "model", "Name of the current model"),
    fixed("prompt", "conversation_id", "Id of the conversation"),
    fixed("git", "branch", "Current branch of the repository in the working directory"),
    fixed("git", "status", "Short status of the repository in the working directory"),
    CatalogEntry {
        kind: "file",
        name: "<path>",
        description: "Contents of a file; the path is relative to the working directory, or absolute",
        dynamic: true,
    },
];

const fn fixed(kind: &'static str, name: &'static str, description: &'static str) -> CatalogEntry {
    CatalogEntry { kind, name, description, dynamic: false }
}

/// Whether the catalogue has variables of type `kind`.
pub(super) fn is_known_kind(kind: &str) -> bool {
    KINDS.contains(&kind)
}

/// Whether `kind:name` is a variable of the catalogue. All names of a dynamic type are.
pub(super) fn is_known_variable(kind: &str, name: &str) -> bool {
    CATALOG.iter().any(|entry| entry.kind == kind && (entry.dynamic || entry.name == name))
}

/// The fixed names of type `kind`.
pub(super) fn names_of(kind: &str) -> impl Iterator<Item = &'static str> {
    CATALOG.iter().filter(move |entry| entry.kind == kind && !entry.dynamic).map(|entry| entry.name)
}

/// The types that have the fixed name `name`.
pub(super) fn kinds_with_name(name: &str) -> impl Iterator<Item = &'static str> {
    CATALOG.iter().filter(move |entry| !entry.dynamic && entry.name == name).map(|entry| entry.kind)
}
