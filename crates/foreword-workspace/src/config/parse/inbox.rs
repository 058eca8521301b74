//! What holds for the inbox, and where the agent's state comes from.

use std::time::Duration;

use foreword_core::budget::{Budget, HIGHEST_BUDGET};
use foreword_core::sender::SenderAddress;
use foreword_prompt::occasion::Channel;
use serde_saphyr::Spanned;

use super::Reader;
use crate::config::raw::{RawInbox, RawState};
use crate::config::{InboxConfig, StateSource};

/// The channels that messages of the inbox come from begin with this.
const INBOX: &str = "inbox";
const LONGEST_GATHERING: u64 = 3_600;
const MOST_WAITING: u64 = 1_000_000;
const STATE_TIMEOUT: Duration = Duration::from_secs(2);
const ONE_OF: &str = "write one of `file`, `command` and `budget`";

impl Reader<'_> {
    pub(super) fn inbox(&mut self, raw: &RawInbox) -> InboxConfig {
        let default = InboxConfig::default();
        let gather = default.gather.as_secs();
        InboxConfig {
            trust: raw.trust.unwrap_or(default.trust),
            gather: Duration::from_secs(self.within(
                raw.gather_seconds.as_ref(),
                "inbox.gather_seconds",
                0..=LONGEST_GATHERING,
                gather,
            )),
            max_waiting: self.within(
                raw.max_waiting.as_ref(),
                "inbox.max_waiting",
                1..=MOST_WAITING,
                default.max_waiting,
            ),
            max_waiting_per_sender: self.within(
                raw.max_waiting_per_sender.as_ref(),
                "inbox.max_waiting_per_sender",
                1..=MOST_WAITING,
                default.max_waiting_per_sender,
            ),
        }
    }

    pub(super) fn state(&mut self, written: Option<&Spanned<RawState>>) -> Option<StateSource> {
        let Spanned { value: raw, defined: at, .. } = written?;
        if let (Some(timeout), None) = (&raw.timeout_ms, &raw.command) {
            let message = "`agent.state.timeout_ms` has no effect without a `command`".to_owned();
            self.refuse(timeout.defined, message, "leave it out".to_owned());
        }
        let timeout = self.milliseconds(raw.timeout_ms.as_ref(), "agent.state.timeout_ms", STATE_TIMEOUT);
        match (&raw.file, &raw.command, &raw.budget) {
            (Some(file), None, None) => self.file(Some(file), "state").map(StateSource::File),
            (None, Some(command), None) => {
                if command.value.first().is_none_or(|program| program.trim().is_empty()) {
                    let message = "`agent.state.command` names no program".to_owned();
                    self.refuse(
                        command.defined,
                        message,
                        "write it as a list: [program, argument]".to_owned(),
                    );
                }
                Some(StateSource::Command { words: command.value.clone(), timeout })
            }
            (None, None, Some(written)) => {
                let budget = Budget::new(written.value.usd, written.value.per);
                if budget.is_none() {
                    let message = format!("`agent.state.budget.usd` is {}", written.value.usd);
                    let help = format!("use an amount above 0, up to {HIGHEST_BUDGET}");
                    self.refuse(written.defined, message, help);
                }
                budget.map(StateSource::Budget)
            }
            (None, None, None) => {
                self.refuse(*at, "`agent.state` names no source".to_owned(), ONE_OF.to_owned());
                None
            }
            _ => {
                self.refuse(*at, "`agent.state` names two sources".to_owned(), ONE_OF.to_owned());
                None
            }
        }
    }

    /// A channel somebody writes from. A sender of the inbox is spelled as the inbox spells senders.
    pub(super) fn channel(&mut self, written: &Spanned<String>) -> Channel {
        let sender = match written.value.split_once(':') {
            Some((INBOX, sender)) => sender,
            None if written.value == INBOX => "",
            _ => return Channel::new(&written.value),
        };
        match SenderAddress::new(sender) {
            Ok(sender) => Channel::new(&format!("{INBOX}:{sender}")),
            Err(_) => {
                let message = format!("channel `{}` names no sender", written.value.escape_debug());
                self.refuse(
                    written.defined,
                    message,
                    "write it as `inbox:` and one sender's address".to_owned(),
                );
                Channel::new(&written.value)
            }
        }
    }
}
