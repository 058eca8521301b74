//! State transitions of a turn: complete, partial and failed answers, cancellation and time limits. However a turn
//! ends, the conversation stays valid: every call has a result, and text that was shown is kept.

use super::step::{Ending, OwnerAnswer, RetryWait, Step};
use super::{PartialAnswer, Phase, ToolEnded, Turn, TurnAttendance, TurnMessage};
use crate::failure::Failure;
use crate::id::CallId;
use crate::message::{ContentBlock, Usage};
use crate::model::{ErrorKind, ModelError, StopReason};
use crate::retry::{ErrorCategory, RetryDecision, requeue_line, status_line};
use crate::timestamp::Timestamp;
use crate::turn_journal::Outcome;

/// The notice for the model after a partial answer.
const CONTINUE_NOTICE: &str = "The connection broke here and the text above has been shown. Continue exactly where it ends; don't \
                     begin again.";

/// The maximum number of compactions per turn. Each covers more than the previous one, but a summary covers only a
/// small part of a history that is many times the context window.
const MAX_COMPACTIONS: u32 = 16;

impl Turn {
    /// Handles a complete answer.
    pub(super) fn answered(&mut self, now: Timestamp, reason: StopReason) -> Step {
        let collected = std::mem::take(&mut self.collected);
        self.add_usage(&collected);
        self.counts.retries = 0;
        let usage = collected.usage();
        let mut blocks = collected.into_blocks();
        self.calls.make_ids_unique(&mut blocks);
        let wants_tools = blocks.iter().any(|block| matches!(block, ContentBlock::ToolCall { .. }));
        if !blocks.is_empty() {
            self.said.push(TurnMessage::by_agent(blocks.clone(), usage));
        }
        if wants_tools {
            self.calls.take(&blocks, &self.rules, &mut self.counts, &self.taint);
            return self.after_judging(now);
        }
        if let Some(reminder) = self.reminder() {
            self.counts.reminders += 1;
            self.said.push(TurnMessage::notice(reminder));
            return self.call_model();
        }
        if let Some(notice) = notice_for(&reason, blocks.is_empty()) {
            self.said.push(TurnMessage::notice(notice));
        }
        self.end(Outcome::Done, None)
    }

    /// Asks the owner, runs the permitted calls, or continues if there is neither.
    fn after_judging(&mut self, now: Timestamp) -> Step {
        if let Some(question) = self.calls.question(&self.taint) {
            self.phase = Phase::Asking { since: now, until: now.plus(self.rules.owner_patience) };
            return Step::AskOwner(question);
        }
        let permits = self.calls.permits();
        if permits.is_empty() {
            return self.tools_done();
        }
        self.phase = Phase::Running;
        Step::RunTools(permits)
    }

    /// Continues with the open calls of the current answer.
    pub(super) fn resume_calls(&mut self, now: Timestamp) -> Step {
        match (&self.phase, self.calls.question(&self.taint)) {
            // The owner is asked again, with the same deadline.
            (Phase::Asking { .. }, Some(question)) => Step::AskOwner(question),
            _ => {
                self.owner_done(now);
                self.after_judging(now)
            }
        }
    }

    pub(super) fn owner_answered(&mut self, now: Timestamp, call: &CallId, answer: OwnerAnswer) -> Step {
        if !self.calls.decide(call, answer) {
            return self.wait();
        }
        self.owner_done(now);
        self.after_judging(now)
    }

    pub(super) fn owner_timed_out(&mut self, now: Timestamp) -> Step {
        self.calls.refuse_undecided();
        self.owner_done(now);
        self.after_judging(now)
    }

    /// The time spent waiting for the owner does not count.
    fn owner_done(&mut self, now: Timestamp) {
        if let Phase::Asking { since, .. } = self.phase {
            self.deadline = self.deadline.plus(now.since(since));
        }
    }

    pub(super) fn tool_ended(&mut self, ended: ToolEnded) -> Step {
        if !self.calls.end(&ended) {
            return self.wait();
        }
        if let Some(source) = ended.from_outside {
            self.taint.add(source);
        }
        if self.calls.permits().is_empty() { self.tools_done() } else { self.wait() }
    }

    /// All calls have results: call the model again.
    fn tools_done(&mut self) -> Step {
        self.close_calls();
        if self.counts.rounds > self.rules.limits.rounds {
            let message = format!(
                "the model asked for tools in {} answers and did not come to an end; ask for less in one message, or raise \
                 `agent.limits.rounds`",
                self.counts.rounds
            );
            return self.fail_at_limit("the model asked for tools too often", message);
        }
        self.call_model()
    }

    fn close_calls(&mut self) {
        self.said.extend(self.calls.results());
        self.calls.forget();
    }

    pub(super) fn model_failed(&mut self, now: Timestamp, error: ModelError, chance: f64) -> Step {
        let decision = self.rules.retry.decide(&error, self.counts.retries, chance);
        let collected = std::mem::take(&mut self.collected);
        self.add_usage(&collected);
        match decision {
            RetryDecision::Again { delay, asked } => {
                let status = status_line(&error, delay);
                // A reduced `retry-after` is reported, so that the next rejection is understandable.
                let status = match asked {
                    Some(asked) => format!("{status} (the provider asked for {}s)", asked.as_secs()),
                    None => status,
                };
                self.keep_text(collected, Some(CONTINUE_NOTICE));
                self.counts.retries += 1;
                self.wait_until(RetryWait { until: now.plus(delay), queued: false, status })
            }
            RetryDecision::Compact if self.counts.compactions < MAX_COMPACTIONS => {
                self.counts.compactions += 1;
                self.keep_text(collected, Some(CONTINUE_NOTICE));
                self.phase = Phase::Compacting;
                Step::Compact
            }
            RetryDecision::Compact => {
                self.keep_text(collected, None);
                self.fail_by_model(ErrorCategory::ProviderPermanent, &error)
            }
            RetryDecision::GiveUp { category } => self.give_up(now, &error, category, collected),
        }
    }

    fn give_up(
        &mut self,
        now: Timestamp,
        error: &ModelError,
        category: ErrorCategory,
        collected: PartialAnswer,
    ) -> Step {
        let later = self.rules.retry.requeue(self.counts.requeues);
        let may_wait = self.rules.attendance == TurnAttendance::Unattended
            && category == ErrorCategory::ProviderTransient;
        if let Some(delay) = later.filter(|_| may_wait) {
            self.keep_text(collected, Some(CONTINUE_NOTICE));
            self.counts.requeues += 1;
            self.counts.retries = 0;
            // Time in the queue does not count.
            self.deadline = self.deadline.plus(delay);
            let status = requeue_line(error, delay);
            return self.wait_until(RetryWait { until: now.plus(delay), queued: true, status });
        }
        self.keep_text(collected, None);
        self.fail_by_model(category, error)
    }

    fn wait_until(&mut self, waiting: RetryWait) -> Step {
        self.phase = Phase::Waiting(waiting);
        self.wait()
    }

    pub(super) fn compacted(&mut self, result: Result<Usage, String>) -> Step {
        match result {
            Ok(usage) => {
                self.usage = self.usage + usage;
                self.phase = Phase::Calling;
                self.counts.retries = 0;
                self.outstanding()
            }
            Err(why) => {
                self.said.push(TurnMessage::notice(
                    "This turn failed: the conversation is too long for the model.",
                ));
                let message = format!(
                    "the conversation is too long for the model, and making it shorter failed: {why}. Begin a new one, \
                     or use a model with a larger context"
                );
                let failure = Failure::new(ErrorCategory::ProviderPermanent, message)
                    .with_public("the conversation is too long for the model; begin a new one");
                self.end(Outcome::Failed, Some(failure))
            }
        }
    }

    pub(super) fn cancel(&mut self) -> Step {
        self.close_with("the turn was cancelled.");
        self.said.push(TurnMessage::notice("This turn was cancelled before it was finished."));
        self.end(Outcome::Cancelled, None)
    }

    pub(super) fn time_limit_reached(&mut self) -> Step {
        self.close_with("the turn's time was up.");
        let seconds = self.rules.limits.time.as_secs();
        let message = format!(
            "the turn took longer than {seconds} seconds; ask for less in one message, or raise `agent.limits.seconds`"
        );
        self.fail_at_limit("the turn took longer than it may", message)
    }

    /// Ends a turn whose call exceeds a budget. The model's notice has no amounts.
    pub(super) fn over_budget(&mut self, failure: Failure) -> Step {
        self.said.push(TurnMessage::notice("This turn failed: the budget is used up."));
        self.end(Outcome::Failed, Some(failure))
    }

    /// Keeps the shown text and closes open calls.
    fn close_with(&mut self, why: &str) {
        let collected = std::mem::take(&mut self.collected);
        self.add_usage(&collected);
        self.keep_text(collected, None);
        self.calls.abandon(why);
        self.close_calls();
    }

    /// Keeps text that was shown, and adds the notice to continue if the call is retried.
    fn keep_text(&mut self, collected: PartialAnswer, go_on: Option<&str>) {
        if !collected.has_text() {
            return;
        }
        let usage = collected.usage();
        self.said.push(TurnMessage::by_agent(collected.into_text(), usage));
        self.said.extend(go_on.map(TurnMessage::notice));
    }

    /// The provider's message is for people. The model reads only the kind of error, since a provider may repeat any
    /// text.
    fn fail_by_model(&mut self, category: ErrorCategory, error: &ModelError) -> Step {
        self.said.push(TurnMessage::notice(format!("This turn failed: {}.", error.kind)));
        self.end(Outcome::Failed, Some(Failure::new(category, describe(error))))
    }

    /// The conversation gets the public message, since later turns of any trust read it.
    fn fail_at_limit(&mut self, public: &str, detail: String) -> Step {
        self.said.push(TurnMessage::notice(format!("This turn failed: {public}.")));
        self.end(Outcome::Failed, Some(Failure::new(ErrorCategory::Limit, detail).with_public(public)))
    }

    fn end(&mut self, outcome: Outcome, failure: Option<Failure>) -> Step {
        let ending = Ending { outcome, failure };
        self.phase = Phase::Done(ending.clone());
        Step::Done(ending)
    }

    fn add_usage(&mut self, collected: &PartialAnswer) {
        self.usage = self.usage + collected.usage().unwrap_or_default();
    }
}

fn notice_for(reason: &StopReason, wordless: bool) -> Option<String> {
    match reason {
        StopReason::MaxTokens => Some("The answer was cut off at the token limit.".to_owned()),
        StopReason::Refusal => Some("The model declined to answer.".to_owned()),
        _ if wordless => Some("The model returned an empty answer.".to_owned()),
        _ => None,
    }
}

/// The cause and how to fix it.
fn describe(error: &ModelError) -> String {
    let hint = match error.kind {
        ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::Timeout => {
            "send the message again later"
        }
        ErrorKind::Network => "check the network and the provider's `base_url`, then send the message again",
        ErrorKind::BrokenStream => "send the message again",
        ErrorKind::ContextTooLong => "begin a new conversation, or use a model with a larger context",
        ErrorKind::Authentication => "check the provider's key",
        ErrorKind::UnknownModel => "check `agent.model`",
        ErrorKind::BadRequest => "see the log for the request's id",
        ErrorKind::NotConfigured => "check `providers` in foreword.yaml",
    };
    format!("{}: {error}; {hint}", error.kind)
}
