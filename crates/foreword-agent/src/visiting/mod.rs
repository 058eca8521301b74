//! Whoever uses what the agent has without talking to it: another agent, or a program that speaks for somebody. They get the
//! agent's own tools, run by the same code at the trust of whoever they speak for, and a few that only make sense from
//! outside. What they may not use is not there for them. Knows nothing of the protocol they come by.

mod cache;
mod calling;
mod memory_index;
mod offered;
mod prompt;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use foreword_core::api_token::Scope;
use foreword_core::event::{Event, EventType, Level};
use foreword_core::tools::check_arguments;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::{Marker, Origin, Untrusted, display_line, frame, single_line};
use foreword_workspace::snapshot::Snapshot;
use serde_json::{Value, json};

pub use offered::VisitorTool;

use crate::agent::{Agent, request};
use crate::error::AgentError;
use crate::inbound::Occasion;
use crate::shared::Shared;
use crate::tool::ToolOutput;
use crate::whose;
use offered::Offered;

/// How much of an error the log keeps.
const LONGEST_ERROR: usize = 300;

/// Somebody who uses what the agent has without talking to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    /// Whom they speak for, and from where.
    pub occasion: Occasion,
    /// What they may use: `chat` opens memory and prompts, `observe` what happened.
    pub scopes: BTreeSet<Scope>,
}

/// What a visitor got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visited {
    /// For the visitor to read: words from outside are in a frame.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

/// A visitor whose person and place are known.
struct Known {
    trust: Trust,
    user: Option<Arc<str>>,
    agent: Arc<str>,
    channel: Option<Arc<str>>,
    occasion: Occasion,
    snapshot: Arc<Snapshot>,
}

impl Agent {
    /// The tools that `visitor` may use, by name. Of others they are told nothing.
    ///
    /// # Errors
    /// If they ask for an agent that is not there.
    pub fn visitor_tools(&self, visitor: &Visitor) -> Result<Vec<VisitorTool>, AgentError> {
        let known = known(self.shared(), visitor)?;
        let offered = offered::to(&known, &visitor.scopes);
        Ok(offered.into_iter().map(|offered| offered.tool).collect())
    }

    /// Runs a tool for `visitor`. One that they may not use is one that is not there; what goes wrong is told with a way
    /// out.
    pub async fn visit(&self, visitor: &Visitor, tool: &str, arguments: &Value) -> Visited {
        let shared = self.shared();
        let known = match known(shared, visitor) {
            Ok(known) => known,
            Err(error) => return refused(error.to_string()),
        };
        let offered = offered::to(&known, &visitor.scopes);
        let Some(wanted) = offered.iter().find(|offered| offered.tool.spec.name == tool) else {
            return refused(no_such_tool(tool, &offered));
        };
        let arguments = match check_arguments(&wanted.tool.spec, arguments) {
            Ok(arguments) => arguments,
            Err(bad) => return refused(bad.to_string()),
        };
        let since = Instant::now();
        let output = Box::pin(calling::call(self, &known, wanted, arguments)).await;
        log(shared, &known, (tool, &output), since);
        shown(tool, output, shared.surroundings.random())
    }
}

fn known(shared: &Shared, visitor: &Visitor) -> Result<Known, AgentError> {
    let snapshot = whose::snapshot(shared, visitor.occasion.agent.as_deref())?;
    let found = request(shared, &visitor.occasion).identify(&snapshot.config);
    let (trust, user) = (found.trust.effective(), found.occasion.user);
    let channel = found.occasion.channel.map(|channel| channel.as_str().into());
    let (agent, occasion) = (found.occasion.agent, visitor.occasion.clone());
    Ok(Known { trust, user, agent, channel, occasion, snapshot })
}

fn no_such_tool(name: &str, offered: &[Offered]) -> String {
    let names: Vec<&str> = offered.iter().map(|offered| offered.tool.spec.name.as_str()).collect();
    let way_out = match did_you_mean(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "nothing is open to you here".to_owned(),
        None => format!("there are {}", names.join(", ")),
    };
    format!("there is no tool `{}`: {way_out}", single_line(name, 80))
}

fn refused(text: String) -> Visited {
    Visited { text, is_error: true }
}

/// What the visitor reads. Most visitors are models: words from outside are framed with a marker made of `random`, which
/// they can't have known.
fn shown(tool: &str, output: ToolOutput, random: u128) -> Visited {
    let ToolOutput { text, is_error, from_outside, .. } = output;
    let text = if from_outside {
        let marker = Marker::from_random_bytes(random.to_be_bytes());
        frame(&[Untrusted::new(Origin::tool(tool), text)], &marker).as_str().to_owned()
    } else {
        text
    };
    Visited { text, is_error }
}

/// Notes the call, and what the tool had to say for the log. There is no conversation and no turn that it belongs to.
fn log(shared: &Shared, known: &Known, (tool, output): (&str, &ToolOutput), since: Instant) {
    let about = |event: Event| Event {
        session_id: None,
        turn_id: None,
        agent_id: Some(Arc::clone(&known.agent)),
        user_id: known.user.clone(),
        channel: known.channel.clone(),
        ..event
    };
    let metadata = json!({ "tool": tool, "isError": output.is_error, "visitor": true });
    let millis = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
    let call = Event::new(EventType::ToolCall, shared.now());
    shared.log(about(Event { duration_ms: Some(millis), metadata: Some(metadata.clone()), ..call }));
    if output.is_error {
        let told = output.text.lines().next().unwrap_or_default();
        let error = Some(display_line(told, LONGEST_ERROR));
        let failed = Event::new(EventType::ToolError, shared.now());
        shared.log(about(Event { level: Level::Warn, error, metadata: Some(metadata), ..failed }));
    }
    output.events.iter().for_each(|event| shared.log(about(event.clone())));
}
