//! The tool calls of one answer: permits, refusals, questions to the owner, and the collected results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::admission::{Admission, CallContext, RefusalReason, admit};
use super::message::{TurnMessage, result};
use super::step::{OwnerAnswer, Permit, Question, Refusal};
use super::{Counts, ToolEnded, ToolRule, TurnRules};
use crate::id::CallId;
use crate::message::ContentBlock;
use crate::taint::Taint;

/// The tool calls of the current answer, and the counts of earlier ones.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Calls {
    /// In the order of the answer.
    open: Vec<Call>,
    /// How often each tool was permitted.
    used: BTreeMap<String, u32>,
    /// All call ids of this turn.
    ids: BTreeSet<CallId>,
    /// The owner has allowed all calls.
    all_allowed: bool,
    /// Refusals that were not fetched yet.
    refused: Vec<Refusal>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Call {
    id: CallId,
    tool: String,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum State {
    /// The owner has to be asked.
    Unsure { arguments: Map<String, Value>, side_effects: bool },
    /// It may run.
    Permitted { arguments: Map<String, Value>, side_effects: bool, confirmed: bool },
    /// It has ended, or was refused.
    Ended { content: String, is_error: bool, from_outside: bool },
}

impl Call {
    /// The call as a refusal; called right after the decision.
    fn refusal(&self) -> Option<Refusal> {
        let State::Ended { content, .. } = &self.state else { return None };
        Some(Refusal { call: self.id.clone(), tool: self.tool.clone(), reason: content.clone() })
    }
}

impl State {
    fn refused(why: impl Into<String>) -> Self {
        Self::Ended { content: why.into(), is_error: true, from_outside: false }
    }
}

impl Calls {
    /// Makes the call ids of an answer unique within the turn: some models reuse them.
    pub(super) fn make_ids_unique(&mut self, blocks: &mut [ContentBlock]) {
        for block in blocks {
            let ContentBlock::ToolCall { id, .. } = block else { continue };
            let mut number = 2_u32;
            let written = id.clone();
            while !self.ids.insert(id.clone()) {
                // A very long id has no room for a number, so it is replaced.
                let numbered = CallId::new(format!("{written}-{number}"));
                *id = numbered
                    .or_else(|_| CallId::new(format!("call-{number}")))
                    .unwrap_or_else(|_| written.clone());
                number += 1;
            }
        }
    }

    /// Adds the calls of an answer and decides about each.
    pub(super) fn take(
        &mut self,
        blocks: &[ContentBlock],
        rules: &TurnRules,
        counts: &mut Counts,
        taint: &Taint,
    ) {
        self.open.clear();
        for block in blocks {
            let ContentBlock::ToolCall { id, name, input } = block else { continue };
            counts.tool_calls = counts.tool_calls.saturating_add(1);
            let state = if counts.rounds > rules.limits.rounds {
                State::refused(format!(
                    "not run: this turn has asked for tools in {} answers already. Answer now with what you have.",
                    rules.limits.rounds
                ))
            } else if counts.tool_calls > rules.limits.tool_calls {
                State::refused(format!("not run: a turn may call {} tools at most.", rules.limits.tool_calls))
            } else {
                self.judge(name, input, rules, taint)
            };
            if let State::Permitted { .. } | State::Unsure { .. } = state {
                *self.used.entry(name.clone()).or_default() += 1;
            }
            let call = Call { id: id.clone(), tool: name.clone(), state };
            self.refused.extend(call.refusal());
            self.open.push(call);
        }
    }

    fn judge(&self, name: &str, input: &Value, rules: &TurnRules, taint: &Taint) -> State {
        let context = CallContext {
            tools: &rules.tools,
            taint,
            attendance: rules.attendance,
            all_allowed: self.all_allowed,
            used: self.used.get(name).copied().unwrap_or(0),
        };
        match admit(name, input, &context) {
            Admission::Permitted { arguments, side_effects, confirmed } => {
                State::Permitted { arguments, side_effects, confirmed }
            }
            Admission::Unsure { arguments, side_effects } => State::Unsure { arguments, side_effects },
            Admission::Refused(RefusalReason::Message(why)) => State::refused(why),
            Admission::Refused(RefusalReason::Sensitive) => State::refused(format!(
                "not run: `{name}` is sensitive and this turn has read {taint}. Only the owner can allow that, and is not \
                 here to be asked. Say what you would have done."
            )),
        }
    }

    /// The next call that the owner has to decide.
    pub(super) fn question(&self, taint: &Taint) -> Option<Question> {
        self.open.iter().find_map(|call| match &call.state {
            State::Unsure { arguments, .. } => Some(Question {
                call: call.id.clone(),
                tool: call.tool.clone(),
                arguments: arguments.clone(),
                because: format!("this turn has read {taint}"),
            }),
            _ => None,
        })
    }

    /// Applies the owner's answer. Returns whether the question was open.
    pub(super) fn decide(&mut self, id: &CallId, answer: OwnerAnswer) -> bool {
        let asked =
            self.open.iter_mut().find(|call| call.id == *id && matches!(call.state, State::Unsure { .. }));
        let Some(asked) = asked else { return false };
        if answer == OwnerAnswer::No {
            asked.state = State::refused("not run: the owner said no. Don't try it again in this turn.");
            self.refused.extend(asked.refusal());
        } else {
            asked.state.permit();
        }
        if answer == OwnerAnswer::RestOfTurn {
            self.all_allowed = true;
            self.open.iter_mut().for_each(|call| call.state.permit());
        }
        true
    }

    /// Refuses all open questions, because the owner did not answer in time.
    pub(super) fn refuse_undecided(&mut self) {
        for call in &mut self.open {
            if let State::Unsure { .. } = call.state {
                call.state = State::refused("not run: the owner was asked and did not answer in time.");
                self.refused.extend(call.refusal());
            }
        }
    }

    /// Decides again about calls whose tools were removed or have other rules than `before`, and about open questions.
    /// A permitted call stays permitted unless a rule became stricter.
    pub(super) fn narrow(&mut self, before: &BTreeMap<String, ToolRule>, rules: &TurnRules, taint: &Taint) {
        let mut open = std::mem::take(&mut self.open);
        let is_other = |tool: &str| before.get(tool) != rules.tools.get(tool);
        let is_judged = |call: &Call| match call.state {
            State::Unsure { .. } => true,
            State::Permitted { .. } => is_other(&call.tool),
            State::Ended { .. } => false,
        };
        let mut again: Vec<&mut Call> = open.iter_mut().filter(|call| is_judged(call)).collect();
        // Reset all counts first; each decision below counts the calls that stay.
        for call in &again {
            self.used.entry(call.tool.clone()).and_modify(|used| *used = used.saturating_sub(1));
        }
        for call in &mut again {
            let sensitive_before = before.get(&call.tool).is_some_and(|rule| rule.sensitive);
            call.state = self.rejudge(call, sensitive_before, rules, taint);
            match call.state {
                State::Ended { .. } => self.refused.extend(call.refusal()),
                _ => *self.used.entry(call.tool.clone()).or_default() += 1,
            }
        }
        self.open = open;
    }

    fn rejudge(&self, call: &Call, sensitive_before: bool, rules: &TurnRules, taint: &Taint) -> State {
        let (arguments, was_permitted, was_confirmed) = match &call.state {
            State::Unsure { arguments, .. } => (arguments, false, false),
            State::Permitted { arguments, confirmed, .. } => (arguments, true, *confirmed),
            State::Ended { .. } => return call.state.clone(),
        };
        let Some(rule) = rules.tools.get(&call.tool) else {
            return State::refused(format!("not run: the tool `{}` is no longer available.", call.tool));
        };
        // Text read after a call was permitted applies to the next call only, as in an uninterrupted turn.
        let sensitive = rule.sensitive && !(was_permitted && sensitive_before);
        let tools = BTreeMap::from([(call.tool.clone(), ToolRule { sensitive, ..rule.clone() })]);
        let rules = TurnRules { tools: Arc::new(tools), ..rules.clone() };
        match self.judge(&call.tool, &Value::Object(arguments.clone()), &rules, taint) {
            State::Permitted { arguments, side_effects, confirmed } => {
                State::Permitted { arguments, side_effects, confirmed: confirmed || was_confirmed }
            }
            other => other,
        }
    }

    /// The permitted calls that have not ended, in order.
    pub(super) fn permits(&self) -> Vec<Permit> {
        let permits = self.open.iter().filter_map(|call| match &call.state {
            State::Permitted { arguments, side_effects, confirmed } => Some(Permit {
                call: call.id.clone(),
                tool: call.tool.clone(),
                arguments: arguments.clone(),
                side_effects: *side_effects,
                confirmed: *confirmed,
            }),
            _ => None,
        });
        permits.collect()
    }

    /// Records a result, unless the call has ended or was never permitted. Returns whether it was recorded.
    pub(super) fn end(&mut self, ended: &ToolEnded) -> bool {
        let running =
            |call: &&mut Call| call.id == ended.call && matches!(call.state, State::Permitted { .. });
        let Some(call) = self.open.iter_mut().find(running) else { return false };
        let (content, is_error) = (ended.content.clone(), ended.is_error);
        // A failed call does not count.
        if let Some(used) = self.used.get_mut(&call.tool).filter(|_| is_error) {
            *used = used.saturating_sub(1);
        }
        call.state = State::Ended { content, is_error, from_outside: ended.from_outside.is_some() };
        true
    }

    /// All results as one message, once all calls have ended.
    pub(super) fn results(&self) -> Option<TurnMessage> {
        let mut content = Vec::new();
        let mut outside = false;
        for call in &self.open {
            let State::Ended { content: text, is_error, from_outside } = &call.state else { return None };
            outside |= from_outside;
            content.push(result(&call.id, text.clone(), *is_error));
        }
        (!content.is_empty()).then(|| TurnMessage::by_tools(content, outside))
    }

    /// Ends the open calls, because the turn ends.
    pub(super) fn abandon(&mut self, why: &str) {
        for call in &mut self.open {
            match call.state {
                State::Unsure { .. } => call.state = State::refused(format!("not run: {why}")),
                // It was permitted, so it may have started.
                State::Permitted { .. } => {
                    call.state = State::refused(format!("stopped: {why} It may have taken effect in part."));
                }
                State::Ended { .. } => {}
            }
        }
    }

    pub(super) fn take_refused(&mut self) -> Vec<Refusal> {
        std::mem::take(&mut self.refused)
    }

    pub(super) fn forget(&mut self) {
        self.open.clear();
    }
}

impl State {
    fn permit(&mut self) {
        if let Self::Unsure { arguments, side_effects } = self {
            let arguments = std::mem::take(arguments);
            *self = Self::Permitted { arguments, side_effects: *side_effects, confirmed: true };
        }
    }
}
