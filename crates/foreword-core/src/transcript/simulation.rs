//! Simulated conversations: users send messages, turns process them sequentially and end in every possible way, while
//! new messages arrive. Records for each turn what it read, sent and received.

use foreword_prompt::trust::Trust;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::{NO_RESULT, transcript};
use crate::history_visibility::visible_history;
use crate::id::{CallId, ConversationId, MessageId, TurnId};
use crate::message::{ContentBlock, Kind, Message, NewMessage, Provenance, Role};
use crate::model::{RequestMessage, RequestRole};

/// An event of a simulated conversation.
#[derive(Debug, Clone)]
pub(super) enum SimulationEvent {
    /// A user sends a message.
    Arrival(Arrival),
    /// A turn runs while messages arrive.
    Turn { takes: bool, trust: Trust, meanwhile: Vec<Arrival>, end: End },
}

/// A message of a user.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    trust: Trust,
    provenance: Provenance,
}

/// How a turn ends.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// With an answer, after rounds of tool calls, whose results are in one message or one each.
    Answered { rounds: Vec<usize>, one_message: bool },
    /// Cancelled while tools were running, some of which had ended.
    Cancelled { calls: usize, ended: usize },
    /// The provider failed, with a notice.
    Failed,
    /// Its node died: only a notice is written.
    Interrupted,
    /// Nothing is written.
    Silent,
}

/// A turn, as its model saw it.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) trust: Trust,
    /// What it read before its own messages.
    pub(super) before: Vec<RequestMessage>,
    /// What it sent and received, as far as it was written.
    pub(super) own: Vec<RequestMessage>,
}

/// The state of a conversation.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) history: Vec<Message>,
    pub(super) runs: Vec<Run>,
}

impl Conversation {
    pub(super) fn of(events: &[SimulationEvent]) -> Self {
        let mut conversation = Self::default();
        for happening in events {
            match happening {
                SimulationEvent::Arrival(arrival) => conversation.arrive(arrival),
                // A turn that takes up messages does not start without any.
                SimulationEvent::Turn { takes: true, .. } if !conversation.has_waiting() => {}
                SimulationEvent::Turn { takes, trust, meanwhile, end } => {
                    let turn = TurnId::new(format!("t-{}", conversation.runs.len())).unwrap();
                    let (trust, before) = conversation.begin(&turn, *takes, *trust);
                    meanwhile.iter().for_each(|arrival| conversation.arrive(arrival));
                    let own = conversation.end(&turn, trust, end);
                    conversation.runs.push(Run { trust, before, own });
                }
            }
        }
        conversation
    }

    fn has_waiting(&self) -> bool {
        self.history.iter().any(|message| message.message.is_pending())
    }

    fn add(&mut self, role: Role, kind: Kind, trust: Trust, content: Vec<ContentBlock>) -> &mut NewMessage {
        let seq = self.history.len() as u64 + 1;
        let message = NewMessage {
            id: MessageId::new(format!("m-{seq}")).unwrap(),
            conversation: ConversationId::new("c-1").unwrap(),
            role,
            kind,
            content,
            trust,
            provenance: Provenance::Agent,
            author: None,
            turn: None,
            usage: None,
            at: "2026-11-16T08:00:00Z".parse().unwrap(),
        };
        self.history.push(Message { seq, message });
        let last = self.history.len() - 1;
        &mut self.history[last].message
    }

    fn arrive(&mut self, arrival: &Arrival) {
        let words = format!("word {}", self.history.len());
        let text = vec![ContentBlock::text(words)];
        let message = self.add(Role::User, Kind::Message, arrival.trust, text);
        message.provenance = arrival.provenance;
        message.author = Some("bob".to_owned());
    }

    /// Takes up waiting messages. The trust is the lowest of them.
    fn begin(&mut self, turn: &TurnId, takes: bool, trust: Trust) -> (Trust, Vec<RequestMessage>) {
        let mut trust = trust;
        for waiting in self.history.iter_mut().filter(|message| takes && message.message.is_pending()) {
            waiting.message.turn = Some(turn.clone());
            trust = trust.meet(waiting.message.trust);
        }
        (trust, transcript(&visible_history(self.history.clone(), trust), Some(turn)))
    }

    /// Writes the messages of a turn and returns what the model has read.
    fn end(&mut self, turn: &TurnId, trust: Trust, end: &End) -> Vec<RequestMessage> {
        let (from, mut own) = (self.history.len(), Vec::new());
        if matches!(end, End::Answered { .. } | End::Cancelled { .. } | End::Failed) {
            let sent = ContentBlock::text(format!("<turn-context>\n{turn}\n</turn-context>\n\nhello"));
            let announced = ContentBlock::Other(json!({ "type": "told", "turn": {} }));
            self.add(Role::User, Kind::Sent, trust, vec![sent.clone(), announced]);
            own.push(RequestMessage { role: RequestRole::User, content: vec![sent] });
        }
        match end {
            End::Answered { rounds, one_message } => {
                for calls in rounds {
                    own.push(self.call(trust, *calls));
                    own.push(self.results(trust, *calls, *calls, *one_message));
                }
                let answer = vec![ContentBlock::text("done")];
                self.add(Role::Assistant, Kind::Message, trust, answer.clone());
                own.push(RequestMessage { role: RequestRole::Assistant, content: answer });
            }
            End::Cancelled { calls, ended } => {
                own.push(self.call(trust, *calls));
                own.push(self.results(trust, *calls, *ended.min(calls), true));
            }
            End::Failed | End::Interrupted => {
                self.add(Role::System, Kind::Notice, trust, vec![ContentBlock::text("it failed")]);
                let notice = vec![ContentBlock::text("[it failed]")];
                // The messages of an interrupted turn come before its notice; no model has read them.
                if matches!(end, End::Failed) {
                    own.push(RequestMessage { role: RequestRole::User, content: notice });
                }
            }
            End::Silent => {}
        }
        for message in &mut self.history[from..] {
            message.message.turn = Some(turn.clone());
        }
        own
    }

    fn call(&mut self, trust: Trust, calls: usize) -> RequestMessage {
        let mut content = vec![ContentBlock::text("let me see")];
        content.extend((0..calls).map(|call| ContentBlock::ToolCall {
            id: call_id(call),
            name: "bash".to_owned(),
            input: json!({}),
        }));
        self.add(Role::Assistant, Kind::Message, trust, content.clone());
        RequestMessage { role: RequestRole::Assistant, content }
    }

    /// Writes the results of the first `ended` of `calls` calls.
    fn results(&mut self, trust: Trust, calls: usize, ended: usize, one_message: bool) -> RequestMessage {
        let result = |call: usize| {
            let (content, is_error) = if call < ended { ("fine", false) } else { (NO_RESULT, true) };
            ContentBlock::ToolResult { call: call_id(call), content: content.to_owned(), is_error }
        };
        let written: Vec<_> = (0..ended).map(result).collect();
        if one_message && ended > 0 {
            self.add(Role::Tool, Kind::Message, trust, written);
        } else {
            for one in written {
                self.add(Role::Tool, Kind::Message, trust, vec![one]);
            }
        }
        RequestMessage { role: RequestRole::Tool, content: (0..calls).map(result).collect() }
    }
}

/// Call ids are reused in every answer, as some models do.
fn call_id(call: usize) -> CallId {
    CallId::new(format!("call_{call}")).unwrap()
}

/// Conversations in which every turn writes something, at any trust.
pub(super) fn any_conversation() -> impl Strategy<Value = Vec<SimulationEvent>> {
    let trust = || select(&Trust::ALL[..]);
    events(trust().boxed(), any::<bool>().boxed(), any_end().boxed())
}

/// Conversations of one trust in which turns may end silently, and each takes up waiting messages.
pub(super) fn any_conversation_with_silence() -> impl Strategy<Value = Vec<SimulationEvent>> {
    let end = prop_oneof![1 => Just(End::Silent), 2 => any_end()];
    events(Just(Trust::Inner).boxed(), Just(true).boxed(), end.boxed())
}

fn any_end() -> impl Strategy<Value = End> {
    let answered = (proptest::collection::vec(1..4_usize, 0..3), any::<bool>())
        .prop_map(|(rounds, one_message)| End::Answered { rounds, one_message });
    let cancelled = (1..4_usize, 0..4_usize).prop_map(|(calls, ended)| End::Cancelled { calls, ended });
    prop_oneof![4 => answered, 2 => cancelled, 1 => Just(End::Failed), 1 => Just(End::Interrupted)]
}

fn events(
    trust: BoxedStrategy<Trust>,
    takes: BoxedStrategy<bool>,
    end: BoxedStrategy<End>,
) -> impl Strategy<Value = Vec<SimulationEvent>> {
    let provenance = select(vec![Provenance::Owner, Provenance::User, Provenance::Outside]);
    let arrival =
        (trust.clone(), provenance).prop_map(|(trust, provenance)| Arrival { trust, provenance }).boxed();
    let meanwhile = proptest::collection::vec(arrival.clone(), 0..3);
    let turn = (takes, trust, meanwhile, end)
        .prop_map(|(takes, trust, meanwhile, end)| SimulationEvent::Turn { takes, trust, meanwhile, end });
    proptest::collection::vec(prop_oneof![arrival.prop_map(SimulationEvent::Arrival), turn], 0..16)
}
