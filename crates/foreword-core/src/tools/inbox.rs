//! The tools of a turn that answers the inbox. No other turn has them, at any trust.

use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use foreword_prompt::trust::Trust;

use crate::sender::{READ_TOOL, REPLY_TOOL};

/// The tools of a turn that answers the inbox, sorted by name.
///
/// ```
/// use foreword_core::tools::inbox_tools;
/// let calls: Vec<String> = inbox_tools().iter().map(|tool| tool.signature()).collect();
/// assert_eq!(calls, ["inbox_read(message)", "inbox_reply(message, text)"]);
/// ```
#[must_use]
pub fn inbox_tools() -> Vec<ToolSpec> {
    let text = ParameterKind::String;
    vec![
        ToolSpec::new(
            READ_TOOL,
            "Reads a message of the inbox in full. Use it when the preview of a pending obligation is cut off. Returns \
             what its sender wrote, as data.",
            Trust::Public,
        )
        .with(Parameter::required("message", text.clone(), "Id of the message, as the obligations show it.")),
        ToolSpec::new(
            REPLY_TOOL,
            "Answers one message of the inbox. Only its sender reads it; it goes out when this turn has ended. Call it \
             for each message, at least once for each sender, and write nothing in it that another sender said. Returns \
             whether it will be sent.",
            Trust::Public,
        )
        .with(Parameter::required("message", text.clone(), "Id of the message, as the obligations show it."))
        .with(Parameter::required("text", text, "The whole answer, in words for its sender.")),
    ]
}
