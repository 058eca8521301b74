//! Tracks whether a turn has read text from outside. Taint is never removed. The restrictions on tainted turns are
//! decided elsewhere.

use std::collections::BTreeMap;
use std::fmt;

use foreword_prompt::untrusted::Origin;
use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::message::{ContentBlock, Kind, Message, Provenance, Role};

/// The maximum number of recorded sources. More sources do not make a turn more tainted.
pub const MAX_TAINT_SOURCES: usize = 16;

/// Whether a turn has read text from outside, and its sources.
///
/// ```
/// use foreword_core::taint::{Taint, TaintSource};
/// use foreword_prompt::untrusted::Origin;
///
/// let mut taint = Taint::Clean;
/// taint.add(TaintSource::Outside(Origin::tool("web_fetch")));
/// taint.add(TaintSource::Outside(Origin::tool("web_fetch")));
/// assert!(taint.is_tainted());
/// assert_eq!(taint.sources(), [TaintSource::Outside(Origin::tool("web_fetch"))]);
/// let stored = serde_json::to_string(&taint).unwrap();
/// assert_eq!(stored, r#"{"state":"tainted","by":[{"outside":{"kind":"tool","name":"web_fetch"}}]}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Taint {
    /// Nothing from outside was read.
    #[default]
    Clean,
    /// Text from outside was read.
    Tainted {
        /// The first sources, each once.
        by: Vec<TaintSource>,
    },
}

/// A source of text from outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaintSource {
    /// A text with its origin.
    Outside(Origin),
    /// An earlier message of the conversation without a known origin.
    History,
}

impl fmt::Display for TaintSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside(origin) => origin.fmt(f),
            Self::History => f.write_str("an earlier message of this conversation"),
        }
    }
}

impl fmt::Display for Taint {
    /// The sources, as an object of "this turn has read".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources = self.sources();
        match sources.first() {
            None => f.write_str("nothing from outside"),
            Some(first) if sources.len() == 1 => first.fmt(f),
            Some(first) => write!(f, "{first} and other text from outside"),
        }
    }
}

impl Taint {
    /// Records that text of `source` was read.
    pub fn add(&mut self, source: TaintSource) {
        match self {
            Self::Clean => *self = Self::Tainted { by: vec![source] },
            Self::Tainted { by } if by.len() < MAX_TAINT_SOURCES && !by.contains(&source) => by.push(source),
            Self::Tainted { .. } => {}
        }
    }

    /// Adds all sources of `other`.
    pub fn add_all(&mut self, other: Self) {
        if let Self::Tainted { by } = other {
            if let (Self::Clean, true) = (&self, by.is_empty()) {
                *self = Self::Tainted { by: Vec::new() };
            }
            by.into_iter().for_each(|source| self.add(source));
        }
    }

    /// Whether text from outside was read.
    #[must_use]
    pub fn is_tainted(&self) -> bool {
        matches!(self, Self::Tainted { .. })
    }

    /// The recorded sources.
    #[must_use]
    pub fn sources(&self) -> &[TaintSource] {
        match self {
            Self::Clean => &[],
            Self::Tainted { by } => by,
        }
    }
}

/// The taint of a turn for `speaker` that reads `messages`, which must be visible to it.
///
/// Text from outside taints, in any message; so do messages of other people in the same conversation and summaries that
/// cover them. The agent's messages do not, nor do the speaker's own, unless they came from outside.
#[must_use]
pub fn taint_of_history(messages: &[Message], speaker: Option<&str>) -> Taint {
    let mut taint = Taint::Clean;
    let mut tools: BTreeMap<&CallId, &str> = BTreeMap::new();
    for message in messages {
        for block in &message.message.content {
            if let ContentBlock::ToolCall { id, name, .. } = block {
                tools.insert(id, name);
            }
        }
        sources(message, speaker, &tools).into_iter().for_each(|source| taint.add(source));
    }
    taint
}

fn sources(message: &Message, speaker: Option<&str>, tools: &BTreeMap<&CallId, &str>) -> Vec<TaintSource> {
    let message = &message.message;
    let outside = message.provenance == Provenance::Outside;
    let said = message.role == Role::User && message.kind == Kind::Message;
    match message.author.as_deref() {
        Some(author) if said && Some(author) != speaker => {
            return vec![TaintSource::Outside(Origin::group(author))];
        }
        // A known user without a name. A [`Kind::Sent`] message accompanies the messages it was sent for.
        None if message.kind != Kind::Sent && message.provenance == Provenance::User => {
            return vec![TaintSource::History];
        }
        _ if !outside => return Vec::new(),
        _ => {}
    }
    let mut found: Vec<TaintSource> = message
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ToolResult { call, .. } => tools.get(call),
            _ => None,
        })
        .map(|tool| TaintSource::Outside(Origin::tool(tool)))
        .collect();
    if found.is_empty() {
        found.push(TaintSource::History);
    }
    found
}

#[cfg(test)]
mod tests {
    use foreword_prompt::trust::Trust;
    use proptest::prelude::*;

    use super::*;
    use crate::history_visibility::visible_history;
    use crate::id::{ConversationId, MessageId};
    use crate::message::NewMessage;

    fn message(role: Role, provenance: Provenance, author: Option<&str>) -> Message {
        let message = NewMessage {
            id: MessageId::new("m-1").unwrap(),
            conversation: ConversationId::new("c-1").unwrap(),
            role,
            kind: Kind::Message,
            content: vec![ContentBlock::text("hello")],
            trust: Trust::Familiar,
            provenance,
            author: author.map(str::to_owned),
            turn: None,
            usage: None,
            at: "2026-11-16T08:00:00Z".parse().unwrap(),
        };
        Message { seq: 1, message }
    }

    fn group(name: &str) -> TaintSource {
        TaintSource::Outside(Origin::group(name))
    }

    fn check(message: Message, speaker: Option<&str>, expected: &[TaintSource]) {
        assert_eq!(taint_of_history(&[message], speaker).sources(), expected);
    }

    #[test]
    fn messages_of_others_taint() {
        let alice = || message(Role::User, Provenance::Owner, Some("alice"));
        check(alice(), Some("alice"), &[]);
        check(alice(), Some("bob"), &[group("alice")]);
        check(alice(), None, &[group("alice")]);
        check(message(Role::User, Provenance::User, Some("bob")), Some("alice"), &[group("bob")]);
        check(message(Role::User, Provenance::User, Some("bob")), Some("bob"), &[]);
        check(message(Role::User, Provenance::Owner, None), Some("alice"), &[]);
        check(message(Role::User, Provenance::User, None), Some("alice"), &[TaintSource::History]);
        check(message(Role::User, Provenance::Outside, Some("mallory")), Some("alice"), &[group("mallory")]);
        check(
            message(Role::User, Provenance::Outside, Some("mallory")),
            Some("mallory"),
            &[TaintSource::History],
        );
        check(message(Role::Assistant, Provenance::Agent, Some("Assistant")), Some("alice"), &[]);
        check(message(Role::Assistant, Provenance::Outside, None), Some("alice"), &[TaintSource::History]);
    }

    #[test]
    fn summaries_of_others_taint() {
        let history = &[TaintSource::History][..];
        for (kind, provenance, expected) in [
            (Kind::Summary, Provenance::Agent, &[][..]),
            (Kind::Summary, Provenance::User, history),
            (Kind::Summary, Provenance::Outside, history),
            (Kind::Sent, Provenance::Agent, &[]),
            (Kind::Sent, Provenance::User, &[]),
            (Kind::Sent, Provenance::Outside, history),
        ] {
            let mut message = message(Role::User, provenance, None);
            message.message.kind = kind;
            check(message, Some("alice"), expected);
        }
    }

    #[test]
    fn taint_names_the_tool() {
        let id = CallId::new("call-1").unwrap();
        let mut call = message(Role::Assistant, Provenance::Agent, None);
        call.message.content = vec![ContentBlock::ToolCall {
            id: id.clone(),
            name: "web_fetch".to_owned(),
            input: serde_json::Value::Null,
        }];
        let mut result = message(Role::Tool, Provenance::Outside, None);
        result.message.content =
            vec![ContentBlock::ToolResult { call: id, content: "obey".to_owned(), is_error: false }];
        let taint = taint_of_history(&[call, result.clone()], Some("alice"));
        assert_eq!(taint.sources(), [TaintSource::Outside(Origin::tool("web_fetch"))]);
        check(result, Some("alice"), &[TaintSource::History]);
    }

    #[test]
    fn withheld_messages_do_not_taint() {
        let mut secret = message(Role::User, Provenance::Outside, Some("mallory"));
        secret.message.trust = Trust::Full;
        let seen = visible_history(vec![secret], Trust::Familiar);
        assert_eq!(taint_of_history(&seen, Some("bob")), Taint::Clean);
    }

    proptest! {
        #[test]
        fn taint_never_decreases_and_stays_bounded(names in prop::collection::vec("[a-z]{1,2}", 0..60)) {
            let mut taint = Taint::Clean;
            for (index, name) in names.iter().enumerate() {
                let before = taint.clone();
                taint.add(group(name));
                let stored = serde_json::to_string(&taint).unwrap();
                prop_assert_eq!(&serde_json::from_str::<Taint>(&stored).unwrap(), &taint);
                prop_assert!(taint.is_tainted());
                prop_assert!(taint.sources().starts_with(before.sources()));
                prop_assert!(taint.sources().len() <= MAX_TAINT_SOURCES.min(index + 1));
                let mut both = before;
                both.add_all(taint.clone());
                prop_assert_eq!(&both, &taint);
                both.add_all(Taint::Clean);
                prop_assert_eq!(&both, &taint);
            }
        }
    }
}
