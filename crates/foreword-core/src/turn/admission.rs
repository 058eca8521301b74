//! Whether one call of a tool may be run: asked for the calls of a turn and for the steps of a workflow alike. Keeps no
//! count of its own; see `calls` for what a turn has done already.

use std::collections::BTreeMap;

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::single_line;
use serde_json::{Map, Value};

use super::step::{Permit, Refusal};
use super::{Presence, ToolRule};
use crate::id::CallId;
use crate::taint::Taint;
use crate::tools::check_arguments;

/// The longest name of a tool that is repeated to the model.
const SHOWN_NAME: usize = 80;

/// What a call is judged by.
pub(super) struct Circumstances<'a> {
    /// The tools the trust permits, by name.
    pub(super) tools: &'a BTreeMap<String, ToolRule>,
    /// What was read from outside.
    pub(super) taint: &'a Taint,
    /// Who is there to be asked.
    pub(super) presence: Presence,
    /// Whether the owner has said yes to everything.
    pub(super) all_allowed: bool,
    /// How often the tool was permitted before.
    pub(super) used: u32,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Admission {
    /// It may be run.
    Permitted { arguments: Map<String, Value>, side_effects: bool, confirmed: bool },
    /// The owner has to be asked.
    Unsure { arguments: Map<String, Value>, side_effects: bool },
    /// It is not run.
    Refused(Why),
}

/// Why a call is not run.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Why {
    /// In words that hold for whoever called it.
    Said(String),
    /// It is sensitive, text from outside was read, and nobody can be asked.
    Sensitive,
}

/// Judges one call.
pub(super) fn admit(name: &str, input: &Value, around: &Circumstances<'_>) -> Admission {
    let Some(rule) = around.tools.get(name) else { return refused(unknown(name, around.tools)) };
    let arguments = match check_arguments(&rule.spec, input) {
        Ok(arguments) => arguments,
        Err(bad) => return refused(bad.to_string()),
    };
    if let Some(most) = rule.most_per_turn.filter(|most| around.used >= *most) {
        let times = if most == 1 { "once".to_owned() } else { format!("{most} times") };
        return refused(format!("not run: a turn may call `{name}` {times} only."));
    }
    let side_effects = rule.side_effects;
    let risky = rule.sensitive && around.taint.is_tainted();
    if !risky || around.all_allowed {
        return Admission::Permitted { arguments, side_effects, confirmed: risky };
    }
    match around.presence {
        Presence::Owner => Admission::Unsure { arguments, side_effects },
        Presence::Somebody | Presence::Nobody => Admission::Refused(Why::Sensitive),
    }
}

fn refused(why: String) -> Admission {
    Admission::Refused(Why::Said(why))
}

/// Judges the call of a workflow's step by the same rules as a turn's. Nobody is asked: a run has no screen.
///
/// ```
/// use std::collections::BTreeMap;
/// use foreword_core::id::CallId;
/// use foreword_core::taint::Taint;
/// use foreword_core::turn::admit_step;
/// use serde_json::json;
///
/// let call = CallId::new("run-1/1").unwrap();
/// let refusal = admit_step((call, "bsah"), &json!({}), &BTreeMap::new(), &Taint::Clean).unwrap_err();
/// assert_eq!(refusal.reason, "there is no tool `bsah`, and none at all in this conversation.");
/// ```
///
/// # Errors
/// Why it may not be run.
pub fn admit_step(
    (call, tool): (CallId, &str),
    input: &Value,
    tools: &BTreeMap<String, ToolRule>,
    taint: &Taint,
) -> Result<Permit, Refusal> {
    let around = Circumstances { tools, taint, presence: Presence::Nobody, all_allowed: false, used: 0 };
    let tool = tool.to_owned();
    let why = match admit(&tool, input, &around) {
        Admission::Permitted { arguments, side_effects, confirmed } => {
            return Ok(Permit { call, tool, arguments, side_effects, confirmed });
        }
        Admission::Refused(Why::Said(why)) => why,
        Admission::Unsure { .. } | Admission::Refused(Why::Sensitive) => format!(
            "not run: `{tool}` is sensitive and this run has read {taint}. Only the owner can allow that, and nobody is \
             asked while a workflow runs."
        ),
    };
    Err(Refusal { call, tool, reason: why })
}

fn unknown(name: &str, tools: &BTreeMap<String, ToolRule>) -> String {
    let shown = single_line(name, SHOWN_NAME);
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
        admit_step((call, tool), input, &tools(), taint)
            .map(|permit| permit.is_confirmed())
            .map_err(|refusal| refusal.reason)
    }

    #[test]
    fn a_step_is_admitted_by_the_rules_of_a_turn_and_never_asks() {
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
