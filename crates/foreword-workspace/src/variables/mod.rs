//! Values of template variables from outside the workspace's configuration: `system:*`, `git:*` and `file:*`. Each
//! function looks up only the names a template uses. `prompt:*` comes from the occasion.

pub mod file;
pub mod git;
pub mod system;
pub(crate) mod template_files;

use std::collections::BTreeMap;

/// Values by variable name, without the type prefix. `None` means absent; empty text is a value.
pub type VariableValues = BTreeMap<String, Option<String>>;
