//! The five built-in blueprints and the texts they use, compiled into the program. The blueprints are YAML in the
//! same form as a user's own.

use super::Blueprint;
use super::spec::BlueprintSpec;
use crate::diagnostic::did_you_mean;

/// The names of the built-in blueprints.
pub const NAMES: [&str; 5] = ["gateway", "vm", "sovereign", "template", "agent"];

macro_rules! texts {
    ($($name:literal),+ $(,)?) => {
        /// Every built-in text with its name, in the order of the names.
        const TEXTS: &[(&str, &str)] = &[
            $(($name, include_str!(concat!("../../builtin/text/", $name, ".md")))),+
        ];
    };
}

texts![
    "channel-discord",
    "channel-email",
    "channel-signal",
    "channel-slack",
    "channel-sms",
    "channel-telegram",
    "channel-whatsapp",
    "compaction",
    "gateway-behaviour",
    "gateway-soul",
    "precedence",
    "sovereign-0",
    "sovereign-1",
    "sovereign-2",
    "sovereign-3",
    "sovereign-4",
    "sovereign-5",
    "sovereign-6",
    "sovereign-7",
    "sovereign-8",
    "sovereign-9",
    "vm-identity",
];

/// The built-in text called `name`.
///
/// ```
/// use foreword_prompt::blueprint::builtin;
/// assert!(builtin::text("precedence").is_some());
/// assert!(builtin::text("channel-terminal").is_none());
/// ```
#[must_use]
pub fn text(name: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The names of all built-in texts.
pub fn text_names() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|(name, _)| *name)
}

/// The YAML of the built-in blueprint called `name`.
#[must_use]
pub fn yaml(name: &str) -> Option<&'static str> {
    Some(match name {
        "gateway" => include_str!("../../builtin/blueprints/gateway.yaml"),
        "vm" => include_str!("../../builtin/blueprints/vm.yaml"),
        "sovereign" => include_str!("../../builtin/blueprints/sovereign.yaml"),
        "template" => include_str!("../../builtin/blueprints/template.yaml"),
        "agent" => include_str!("../../builtin/blueprints/agent.yaml"),
        _ => return None,
    })
}

/// Why a built-in blueprint could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinError {
    /// No built-in blueprint has this name.
    #[error("there is no blueprint `{name}`{}", .near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// The requested name.
        name: String,
        /// The most similar name.
        near: Option<&'static str>,
    },
    /// A built-in blueprint is invalid; a test prevents this.
    #[error("the built-in blueprint `{name}` is broken: {reason}")]
    Broken {
        /// Which one.
        name: String,
        /// Why.
        reason: String,
    },
}

/// The built-in blueprint called `name`.
///
/// # Errors
/// If there is none of that name.
///
/// ```
/// use foreword_prompt::blueprint::builtin;
/// assert_eq!(&*builtin::blueprint("gateway").unwrap().name, "gateway");
/// assert_eq!(
///     builtin::blueprint("gatway").unwrap_err().to_string(),
///     "there is no blueprint `gatway`: did you mean `gateway`?"
/// );
/// ```
pub fn blueprint(name: &str) -> Result<Blueprint, BuiltinError> {
    let yaml = yaml(name)
        .ok_or_else(|| BuiltinError::Unknown { name: name.to_owned(), near: did_you_mean(name, NAMES) })?;
    let broken = |reason: String| BuiltinError::Broken { name: name.to_owned(), reason };
    let spec: BlueprintSpec = serde_saphyr::from_str(yaml).map_err(|error| broken(error.to_string()))?;
    Blueprint::from_spec(name, &spec)
        .map_err(|problems| broken(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))
}
