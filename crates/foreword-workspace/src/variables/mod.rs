//! Values of template variables that come from the world: `system:*`, `git:*` and `file:*`. Each function takes the
//! names a template refers to and looks up those only. `prompt:*` is the occasion's and not known here.

pub mod file;
pub mod git;
pub mod system;
pub(crate) mod template_files;

use std::collections::BTreeMap;

/// Values by variable name, without the type. `None` is absent; empty text is a value.
pub type Values = BTreeMap<String, Option<String>>;
