//! Reads from the request who is speaking, where and when. Uses only what any model sees: the turn context in the
//! messages, or the end of the system prompt.

use foreword_core::model::{ModelRequest, RequestRole};
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::single_line;

use crate::user_message::UserMessage;

const SHOWN_CHARS: usize = 80;

/// Who is speaking, where and when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SpeakerContext {
    pub(crate) user: Option<String>,
    pub(crate) trust: Option<Trust>,
    channel: Option<String>,
    situation: Option<String>,
    time: Option<String>,
}

impl SpeakerContext {
    /// Reads the contexts in order: values that a newer context omits are unchanged.
    pub(crate) fn of(request: &ModelRequest) -> Self {
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
                self.channel = Some(bounded(channel));
            } else if let Some(situation) = line.strip_prefix("- Situation: ") {
                self.situation = Some(bounded(situation));
            } else if let Some(time) = line.strip_prefix("- Time: ").or(line.strip_prefix("- timestamp: ")) {
                self.time = Some(bounded(time));
            } else if let Some((_, trust)) = line.split_once("Available Memory (trust: ") {
                self.trust = trust.trim_end_matches(')').parse().ok().or(self.trust);
            }
        }
    }

    fn take_in_speaker(&mut self, who: &str) {
        let (user, trust) = who.rsplit_once(", trust ").unwrap_or((who, ""));
        self.user = (user != "somebody unknown").then(|| bounded(user));
        self.trust = trust.parse().ok();
    }

    /// One sentence for the user.
    pub(crate) fn sentence(&self) -> String {
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

fn bounded(text: &str) -> String {
    single_line(text.trim(), SHOWN_CHARS)
}
