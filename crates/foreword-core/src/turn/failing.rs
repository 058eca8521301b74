//! What becomes of a turn when an answer is complete, breaks off or fails, when somebody says stop, and when time is up.
//! However it ends, the conversation can go on: every call has its result, and what was shown is kept.

use super::step::{Asked, Ending, Step, Waiting};
use super::{Collected, Phase, Presence, Said, ToolEnded, Turn};
use crate::failure::Failure;
use crate::id::CallId;
use crate::message::{ContentBlock, Usage};
use crate::model::{ErrorKind, ModelError, StopReason};
use crate::retry::{ErrorCategory, RetryDecision, requeue_line, status_line};
use crate::timestamp::Timestamp;
use crate::turn_journal::Outcome;

/// What the model is told behind words of it that broke off.
const GO_ON: &str = "The connection broke here and the words above have been shown. Go on exactly where they end; don't \
                     begin again.";

/// How often a turn has its history made shorter at most. Each time covers more than the one before, but of a history that is
/// many times what the model can read one summary stands for a small part only.
const COMPACTIONS: u32 = 16;

impl Turn {
    /// The answer is complete.
    pub(super) fn answered(&mut self, now: Timestamp, reason: StopReason) -> Step {
        let collected = std::mem::take(&mut self.collected);
        self.add_usage(&collected);
        self.counts.retries = 0;
        let usage = collected.usage();
        let mut blocks = collected.into_blocks();
        self.calls.tell_apart(&mut blocks);
        let wants_tools = blocks.iter().any(|block| matches!(block, ContentBlock::ToolCall { .. }));
        if !blocks.is_empty() {
            self.said.push(Said::by_agent(blocks.clone(), usage));
        }
        if wants_tools {
            self.calls.take(&blocks, &self.rules, &mut self.counts, &self.taint);
            return self.after_judging(now);
        }
        if let Some(reminder) = self.reminder() {
            self.counts.reminders += 1;
            self.said.push(Said::notice(reminder));
            return self.call_model();
        }
        if let Some(notice) = notice_for(&reason, blocks.is_empty()) {
            self.said.push(Said::notice(notice));
        }
        self.end(Outcome::Done, None)
    }

    /// Asks the owner, runs what may be run, or goes on if there is neither.
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

    /// Goes on with the calls of the answer at hand, those that are still to be decided or run.
    pub(super) fn take_up_calls(&mut self, now: Timestamp) -> Step {
        match (&self.phase, self.calls.question(&self.taint)) {
            // The owner is asked again, and not for longer.
            (Phase::Asking { .. }, Some(question)) => Step::AskOwner(question),
            _ => {
                self.owner_done(now);
                self.after_judging(now)
            }
        }
    }

    pub(super) fn owner_said(&mut self, now: Timestamp, call: &CallId, answer: Asked) -> Step {
        if !self.calls.decide(call, answer) {
            return self.wait();
        }
        self.owner_done(now);
        self.after_judging(now)
    }

    pub(super) fn nobody_answered(&mut self, now: Timestamp) -> Step {
        self.calls.nobody_decides();
        self.owner_done(now);
        self.after_judging(now)
    }

    /// The time an owner takes to think is not the turn's.
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

    /// All calls have their results: the model reads them.
    fn tools_done(&mut self) -> Step {
        self.close_calls();
        if self.counts.rounds > self.rules.limits.rounds {
            let message = format!(
                "the model asked for tools in {} answers and did not come to an end; ask for less at once, or raise \
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
                // A wish that is not granted is said, or nobody would understand the next refusal.
                let status = match asked {
                    Some(asked) => format!("{status} (the provider asked for {}s)", asked.as_secs()),
                    None => status,
                };
                self.keep_words(collected, Some(GO_ON));
                self.counts.retries += 1;
                self.wait_until(Waiting { until: now.plus(delay), queued: false, status })
            }
            RetryDecision::Compact if self.counts.compactions < COMPACTIONS => {
                self.counts.compactions += 1;
                self.keep_words(collected, Some(GO_ON));
                self.phase = Phase::Compacting;
                Step::Compact
            }
            RetryDecision::Compact => {
                self.keep_words(collected, None);
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
        collected: Collected,
    ) -> Step {
        let later = self.rules.retry.requeue(self.counts.requeues);
        let may_wait =
            self.rules.presence == Presence::Nobody && category == ErrorCategory::ProviderTransient;
        if let Some(delay) = later.filter(|_| may_wait) {
            self.keep_words(collected, Some(GO_ON));
            self.counts.requeues += 1;
            self.counts.retries = 0;
            // Time in a queue is not time at work.
            self.deadline = self.deadline.plus(delay);
            let status = requeue_line(error, delay);
            return self.wait_until(Waiting { until: now.plus(delay), queued: true, status });
        }
        self.keep_words(collected, None);
        self.fail_by_model(category, error)
    }

    fn wait_until(&mut self, waiting: Waiting) -> Step {
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
                self.said.push(Said::notice("This turn failed: the conversation is too long for the model."));
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
        self.said.push(Said::notice("This turn was cancelled before it was finished."));
        self.end(Outcome::Cancelled, None)
    }

    pub(super) fn out_of_time(&mut self) -> Step {
        self.close_with("the turn's time was up.");
        let seconds = self.rules.limits.time.as_secs();
        let message = format!(
            "the turn took longer than {seconds} seconds; ask for less at once, or raise `agent.limits.seconds`"
        );
        self.fail_at_limit("the turn took longer than it may", message)
    }

    /// A call that may not be paid for. The model reads only that: amounts are for people.
    pub(super) fn over_budget(&mut self, failure: Failure) -> Step {
        self.said.push(Said::notice("This turn failed: what may be spent is used up."));
        self.end(Outcome::Failed, Some(failure))
    }

    /// Keeps what was shown and closes what is open.
    fn close_with(&mut self, why: &str) {
        let collected = std::mem::take(&mut self.collected);
        self.add_usage(&collected);
        self.keep_words(collected, None);
        self.calls.abandon(why);
        self.close_calls();
    }

    /// Words that were shown are never taken back: they stay, and the model is told how to go on if it is to.
    fn keep_words(&mut self, collected: Collected, go_on: Option<&str>) {
        if !collected.has_words() {
            return;
        }
        let usage = collected.usage();
        self.said.push(Said::by_agent(collected.into_words(), usage));
        self.said.extend(go_on.map(Said::notice));
    }

    /// What the provider said is for people. The model reads only what sort of failure it was: a provider may repeat
    /// anybody's words.
    fn fail_by_model(&mut self, category: ErrorCategory, error: &ModelError) -> Step {
        self.said.push(Said::notice(format!("This turn failed: {}.", error.kind)));
        self.end(Outcome::Failed, Some(Failure::new(category, describe(error))))
    }

    /// The conversation gets the sentence for everybody: later turns of any trust read it.
    fn fail_at_limit(&mut self, public: &str, detail: String) -> Step {
        self.said.push(Said::notice(format!("This turn failed: {public}.")));
        self.end(Outcome::Failed, Some(Failure::new(ErrorCategory::Limit, detail).with_public(public)))
    }

    fn end(&mut self, outcome: Outcome, failure: Option<Failure>) -> Step {
        let ending = Ending { outcome, failure };
        self.phase = Phase::Done(ending.clone());
        Step::Done(ending)
    }

    fn add_usage(&mut self, collected: &Collected) {
        self.usage = self.usage + collected.usage().unwrap_or_default();
    }
}

fn notice_for(reason: &StopReason, wordless: bool) -> Option<String> {
    match reason {
        StopReason::MaxTokens => {
            Some("The answer reached the most tokens it may have and stops here.".to_owned())
        }
        StopReason::Refusal => Some("The model declined to answer.".to_owned()),
        _ if wordless => Some("The model had nothing to say.".to_owned()),
        _ => None,
    }
}

/// What went wrong and what to do about it.
fn describe(error: &ModelError) -> String {
    let hint = match error.kind {
        ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::Timeout => {
            "send the message again in a while"
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
