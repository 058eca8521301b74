//! Decides whether a tool call may run, for turns and workflow steps. Keeps no counts; see `calls`.

use std::collections::BTreeMap;

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::single_line;
use serde_json::{Map, Value};

use super::step::{Permit, Refusal};
use super::{ToolRule, TurnAttendance};
use crate::id::CallId;
use crate::taint::Taint;
use crate::tools::check_arguments;

/// The maximum length of a tool name that is repeated to the model.
const MAX_NAME_CHARS: usize = 80;

/// What the decision about a call depends on.
pub(super) struct CallContext<'a> {
    /// The tools that the trust permits, by name.
    pub(super) tools: &'a BTreeMap<String, ToolRule>,
    /// The text from outside that was read.
    pub(super) taint: &'a Taint,
    /// Who can be asked.
    pub(super) attendance: TurnAttendance,
    /// Whether the owner has allowed all calls.
    pub(super) all_allowed: bool,
    /// How often the tool was permitted before.
    pub(super) used: u32,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Admission {
    /// It may run.
    Permitted { arguments: Map<String, Value>, side_effects: bool, confirmed: bool },
    /// The owner has to be asked.
    Unsure { arguments: Map<String, Value>, side_effects: bool },
    /// It must not run.
    Refused(RefusalReason),
}

/// Why a call is refused.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RefusalReason {
    /// A message for any caller.
    Message(String),
    /// It is sensitive, text from outside was read, and the owner cannot be asked.
    Sensitive,
}

/// Decides about one call.
pub(super) fn admit(name: &str, input: &Value, context: &CallContext<'_>) -> Admission {
    let Some(rule) = context.tools.get(name) else { return refused(unknown(name, context.tools)) };
    let arguments = match check_arguments(&rule.spec, input) {
        Ok(arguments) => arguments,
        Err(bad) => return refused(bad.to_string()),
    };
    if let Some(most) = rule.most_per_turn.filter(|most| context.used >= *most) {
        let times = if most == 1 { "once".to_owned() } else { format!("{most} times") };
        return refused(format!("not run: a turn may call `{name}` {times} only."));
    }
    let side_effects = rule.side_effects;
    let risky = rule.sensitive && context.taint.is_tainted();
    if !risky || context.all_allowed {
        return Admission::Permitted { arguments, side_effects, confirmed: risky };
    }
    match context.attendance {
        TurnAttendance::Owner => Admission::Unsure { arguments, side_effects },
        TurnAttendance::Interactive | TurnAttendance::Unattended => {
            Admission::Refused(RefusalReason::Sensitive)
        }
    }
}

fn refused(why: String) -> Admission {
    Admission::Refused(RefusalReason::Message(why))
}

/// Decides about the call of a workflow step by the same rules as for a turn. The owner is never asked, since a run is
/// not interactive.
///
/// ```
/// use std::collections::BTreeMap;
/// use foreword_core::id::CallId;
/// use foreword_core::taint::Taint;
/// use foreword_core::turn::admit_step;
/// use serde_json::json;
///
/// let call = CallId::new("run-1/1").unwrap();
/// let refusal = admit_step(call, "bsah", &json!({}), &BTreeMap::new(), &Taint::Clean).unwrap_err();
/// assert_eq!(refusal.reason, "there is no tool `bsah`, and none at all in this conversation.");
/// ```
///
/// # Errors
/// If it may not run.
pub fn admit_step(
    call: CallId,
    tool: &str,
    input: &Value,
    tools: &BTreeMap<String, ToolRule>,
    taint: &Taint,
) -> Result<Permit, Refusal> {
    let context =
        CallContext { tools, taint, attendance: TurnAttendance::Unattended, all_allowed: false, used: 0 };
    let tool = tool.to_owned();
    let why = match admit(&tool, input, &context) {
        Admission::Permitted { arguments, side_effects, confirmed } => {
            return Ok(Permit { call, tool, arguments, side_effects, confirmed });
        }
        Admission::Refused(RefusalReason::Message(why)) => why,
        Admission::Unsure { .. } | Admission::Refused(RefusalReason::Sensitive) => format!(
            "not run: `{tool}` is sensitive and this run has read {taint}. Only the owner can allow that, and a \
             workflow can't ask the owner while it runs."
        ),
    };
    Err(Refusal { call, tool, reason: why })
}

fn unknown(name: &str, tools: &BTreeMap<String, ToolRule>) -> String {
    let shown = single_line(name, MAX_NAME_CHARS);
    let names = || tools.keys().map(String::as_str);
    match did_you_mean(name, names()) {
        Some(near) => format!("there is no tool `{shown}`: did you mean `{near}`?"),
        None if tools.is_empty() => {
            format!("there is no tool `{shown}`, and none at all in this conversation.")
        }
        None => format!("there is no tool `{shown}`. There are: {}.", names().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
    use foreword_prompt::trust::Trust;
    use foreword_prompt::untrusted::Origin;
    use serde_json::json;

    use super::*;
    use crate::taint::TaintSource;

    fn tools() -> BTreeMap<String, ToolRule> {
        let rule = |name: &str, sensitive: bool| {
            let spec = ToolSpec::new(name, "Does it.", Trust::Full).with(Parameter::required(
                "what",
                ParameterKind::String,
                "What.",
            ));
            (name.to_owned(), ToolRule { spec, side_effects: true, sensitive, most_per_turn: Some(1) })
        };
        BTreeMap::from([rule("bash", true), rule("note", false)])
    }

    fn check(tool: &str, input: &Value, taint: &Taint) -> Result<bool, String> {
        let call = CallId::new("run-1/1").unwrap();
        admit_step(call, tool, input, &tools(), taint)
            .map(|permit| permit.is_confirmed())
            .map_err(|refusal| refusal.reason)
    }

    #[test]
    fn workflow_step_follows_turn_rules_and_never_asks() {
        let mut tainted = Taint::Clean;
        tainted.add(TaintSource::Outside(Origin::tool("web_fetch")));
        let given = json!({ "what": "x" });
        assert_eq!(check("bash", &given, &Taint::Clean), Ok(false));
        assert_eq!(check("note", &given, &tainted), Ok(false));
        let refused = check("bash", &given, &tainted).unwrap_err();
        assert!(refused.contains("sensitive") && refused.contains("`web_fetch`"), "{refused}");
        assert_eq!(
            check("bsh", &given, &Taint::Clean),
            Err("there is no tool `bsh`: did you mean `bash`?".to_owned())
        );
        assert!(
            check("note", &json!({ "waht": 1 }), &Taint::Clean).unwrap_err().contains("did you mean `what`?")
        );
    }
}
