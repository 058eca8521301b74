//! Who is asking, where and when, as far as the request itself says so. Reads only what any model would see: the
//! context at the head of the messages, or at the end of the system prompt.

use foreword_core::model::{ModelRequest, RequestRole};
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;

use super::own_words::UserMessage;

const SHOWN_CHARS: usize = 80;

/// Who is asking, where and when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Whereabouts {
    pub(super) user: Option<String>,
    pub(super) trust: Option<Trust>,
    channel: Option<String>,
    situation: Option<String>,
    time: Option<String>,
}

impl Whereabouts {
    /// What the newest context says; what it leaves out has not changed, so the one before it is asked.
    pub(super) fn of(request: &ModelRequest) -> Self {
        let mut found = Self::default();
        if let Some(block) = request.system.last() {
            found.take_in(&block.text);
        }
        for message in request.messages.iter().filter(|message| message.role == RequestRole::User) {
            found.take_in(&UserMessage::of(message).context);
        }
        found
    }

    fn take_in(&mut self, context: &str) {
        for line in context.lines() {
            if let Some(who) = line.strip_prefix("- Speaking with: ") {
                self.take_in_speaker(who);
            } else if let Some(channel) = line.strip_prefix("- Channel: ") {
                self.channel = Some(shown(channel));
            } else if let Some(situation) = line.strip_prefix("- Situation: ") {
                self.situation = Some(shown(situation));
            } else if let Some(time) = line.strip_prefix("- Time: ").or(line.strip_prefix("- timestamp: ")) {
                self.time = Some(shown(time));
            } else if let Some((_, trust)) = line.split_once("Available Memory (trust: ") {
                self.trust = trust.trim_end_matches(')').parse().ok().or(self.trust);
            }
        }
    }

    fn take_in_speaker(&mut self, who: &str) {
        let (user, trust) = who.rsplit_once(", trust ").unwrap_or((who, ""));
        self.user = (user != "somebody unknown").then(|| shown(user));
        self.trust = trust.parse().ok();
    }

    /// One sentence for whoever asks.
    pub(super) fn sentence(&self) -> String {
        let mut words = match (&self.user, self.trust) {
            (Some(user), Some(trust)) => format!("I take you for {user} (trust {trust})"),
            (Some(user), None) => format!("I take you for {user}"),
            (None, Some(trust)) => format!("I don't know who is asking (trust {trust})"),
            (None, None) => "The request does not say who is asking".to_owned(),
        };
        for (before, value) in
            [(", on ", &self.channel), (", in situation ", &self.situation), (", at ", &self.time)]
        {
            if let Some(value) = value {
                words.push_str(before);
                words.push_str(value);
            }
        }
        words.push('.');
        words
    }
}

fn shown(text: &str) -> String {
    single_line(text.trim(), SHOWN_CHARS)
}
