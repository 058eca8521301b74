//! Conversation settings in schedules and workflow files.

use foreword_core::template_context::TemplateContext;

/// Settings for the conversation of a schedule or a workflow. Missing settings stay unchanged. The values are validated
/// when they are used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfiguredSettings {
    /// Instructions for this conversation only.
    pub session_instructions: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// Template values.
    pub context: Option<TemplateContext>,
}

impl ConfiguredSettings {
    /// Whether no setting is present.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
