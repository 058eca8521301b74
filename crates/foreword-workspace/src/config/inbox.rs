//! Section `inbox`: messages from other agents and programs.

use std::time::Duration;

use foreword_core::sender::SenderAddress;
use foreword_prompt::occasion::Channel;
use foreword_prompt::trust::Trust;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::parse::ConfigParser;

/// The inbox: messages from other agents and programs.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RawInbox {
    /// The trust of a sender that is not listed in a user's `match` as `inbox:<sender>`. Default: `public`. A turn that
    /// answers the inbox has read text from outside in any case, so it may not call sensitive tools.
    pub trust: Option<Trust>,
    /// How many seconds to wait for more messages after the first, so that one turn answers them together. Default: 2.
    #[schemars(with = "Option<u64>")]
    pub gather_seconds: Option<Spanned<u64>>,
    /// The maximum number of waiting messages; further ones are refused. Default: 20,000.
    #[schemars(with = "Option<u64>")]
    pub max_waiting: Option<Spanned<u64>>,
    /// The maximum number of waiting messages per sender. Default: 50.
    #[schemars(with = "Option<u64>")]
    pub max_waiting_per_sender: Option<Spanned<u64>>,
}

/// Configuration of the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxConfig {
    /// The trust of unknown senders.
    pub trust: Trust,
    /// How long to wait for more messages after the first, so that one turn answers them together.
    pub gather: Duration,
    /// The maximum number of waiting messages.
    pub max_waiting: u64,
    /// The maximum number of waiting messages per sender.
    pub max_waiting_per_sender: u64,
}

impl Default for InboxConfig {
    fn default() -> Self {
        Self {
            trust: Trust::Public,
            gather: Duration::from_secs(2),
            max_waiting: 20_000,
            max_waiting_per_sender: 50,
        }
    }
}

/// The family of inbox channels.
const INBOX: &str = "inbox";
const MAX_GATHER_SECONDS: u64 = 3_600;
const MAX_WAITING: u64 = 1_000_000;

impl ConfigParser<'_> {
    pub(super) fn inbox(&mut self, raw: &RawInbox) -> InboxConfig {
        let default = InboxConfig::default();
        let gather = default.gather.as_secs();
        InboxConfig {
            trust: raw.trust.unwrap_or(default.trust),
            gather: Duration::from_secs(self.within(
                raw.gather_seconds.as_ref(),
                "inbox.gather_seconds",
                0..=MAX_GATHER_SECONDS,
                gather,
            )),
            max_waiting: self.within(
                raw.max_waiting.as_ref(),
                "inbox.max_waiting",
                1..=MAX_WAITING,
                default.max_waiting,
            ),
            max_waiting_per_sender: self.within(
                raw.max_waiting_per_sender.as_ref(),
                "inbox.max_waiting_per_sender",
                1..=MAX_WAITING,
                default.max_waiting_per_sender,
            ),
        }
    }

    /// A channel of a user. Inbox senders are normalised as the inbox does.
    pub(super) fn channel(&mut self, written: &Spanned<String>) -> Channel {
        let sender = match written.value.split_once(':') {
            Some((INBOX, sender)) => sender,
            None if written.value == INBOX => "",
            _ => return Channel::new(&written.value),
        };
        match SenderAddress::new(sender) {
            Ok(sender) => Channel::new(&format!("{INBOX}:{sender}")),
            Err(_) => {
                let message = format!("channel `{}` has no sender", written.value.escape_debug());
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
