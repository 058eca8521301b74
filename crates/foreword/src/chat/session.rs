//! One chat: its speaker, conversation and cost; reads lines and prints answers.

use std::sync::Arc;

use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_agent::conversation::settings::apply;
use foreword_agent::error::AgentError;
use foreword_agent::prompt::workspace_reload::Reloaded;
use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_core::money::{Money, Price};
use foreword_prompt::untrusted::display_line;
use foreword_store::conversation_settings::SettingsUpdate;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;
use serde_json::{Value, json};

use super::editor::Editor;
use super::interrupts::Interrupts;
use super::one_line::escape_invisible;
use super::recall::last_exchange;
use super::settings::{self, Stage};
use super::show::usage_line;
use super::slash::{self, As, COMMANDS, Slash};
use super::speaker;
use crate::cli::ChatArgs;
use crate::command;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::unknown_name_warnings;
use crate::output::{BOLD, CYAN, DIM, Output, YELLOW, counted, styled};
use crate::process_context::ProcessContext;
use crate::running_agent::RunningAgent;

/// Whether the chat continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    GoOn,
    /// The turn failed.
    Failed,
    /// The user stopped the turn.
    Stopped,
    Quit,
}

pub(crate) struct Session<'a> {
    pub(super) running: &'a RunningAgent,
    pub(super) process: &'a ProcessContext,
    pub(super) output: &'a Output,
    pub(super) conversation: ConversationId,
    args: &'a ChatArgs,
    speaker: As,
    /// The agent of a conversation that has not started.
    pub(super) requested_agent: Option<Arc<str>>,
    /// Settings of the command line for the conversation that are not stored yet.
    pub(super) pending: SettingsUpdate,
    pub(super) total: Total,
    pub(super) interrupts: Interrupts,
}

/// Usage and cost of this chat.
pub(super) struct Total {
    usage: Usage,
    cost: Price,
    turns: u32,
}

impl Total {
    pub(super) fn add(&mut self, usage: Usage, cost: Price) {
        self.usage = self.usage + usage;
        self.cost = self.cost + cost;
    }

    pub(super) fn add_turn(&mut self, usage: Usage, cost: Price) {
        self.turns += 1;
        self.add(usage, cost);
    }
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        running: &'a RunningAgent,
        process: &'a ProcessContext,
        output: &'a Output,
        conversation: ConversationId,
        args: &'a ChatArgs,
    ) -> Result<Self, Failure> {
        let total = Total { usage: Usage::default(), cost: Price::Known(Money::ZERO), turns: 0 };
        let interrupts = running.wait(async { Interrupts::listen() }).map_err(|error| {
            Failure::failed(
                format!("can't listen for Ctrl-C: {error}"),
                "check the operating system's limits",
            )
        })?;
        let found = running.wait(running.store.conversation(&conversation))?;
        let stage = if found.is_some() { Stage::Existing } else { Stage::New };
        let session = Self {
            pending: settings::checked(args, process, &running.agent, stage)?,
            running,
            process,
            output,
            conversation,
            args,
            speaker: speaker::named(args),
            requested_agent: args.agent.as_deref().map(Arc::from),
            total,
            interrupts,
        };
        session.check_agent()?;
        session.warn_unknown_names();
        session.warn_of_retirement();
        Ok(session)
    }

    /// Prints where the chat takes place, and the last exchange of a continued conversation.
    pub(crate) fn print_start(&self) -> Result<(), Failure> {
        let config = Arc::clone(&self.view().config);
        let (name, model) = (&config.agent.name, self.args.model.as_deref().unwrap_or(&config.agent.model));
        let trust = self.request().principal(&config).trust.effective();
        let history = self.running.wait(self.running.store.history_at(&self.conversation, trust))?;
        let last = last_exchange(&history, name);
        let word = if last.is_empty() { "New conversation" } else { "Continuing" };
        let (name, model) = (styled(BOLD, escape_invisible(name)), escape_invisible(model));
        self.output.print_stderr(&format!("{name} on {model}. {word} {}.", self.conversation));
        self.output
            .print_stderr(&styled(DIM, "/help lists commands. Ctrl-C stops an answer, Ctrl-D leaves."));
        for line in last {
            self.output.print_stderr(&styled(DIM, line));
        }
        Ok(())
    }

    /// The prompt of the line editor.
    pub(crate) fn prompt(&self) -> String {
        let who = self.request().principal(&self.running.workspace.snapshot().config).occasion;
        let user = who.user.as_deref().unwrap_or("stranger").to_owned();
        let place = if &*who.situation == "dm" { String::new() } else { format!(" in {}", who.situation) };
        format!("{}> ", display_line(&format!("{user}{place}"), 40))
    }

    /// Reports files that were reloaded since the last call.
    pub(crate) fn report_reloads(&self) {
        for reloaded in self.running.reloaded() {
            match reloaded {
                Reloaded::Changed(sections) if sections.is_empty() => {}
                Reloaded::Changed(sections) => {
                    let sections = sections.join("`, `");
                    self.note(&styled(DIM, format!("foreword.yaml reloaded: `{sections}` changed")));
                }
                Reloaded::Refused(why) => self.note(&styled(
                    YELLOW,
                    format!(
                        "foreword.yaml is invalid, the previous configuration stays active: {}",
                        escape_invisible(&why)
                    ),
                )),
            }
        }
    }

    /// Handles a line: a command or a message.
    pub(crate) fn line(&mut self, line: &str, editor: Option<&mut Editor>) -> Result<Flow, Failure> {
        if line.trim().is_empty() {
            return Ok(Flow::GoOn);
        }
        match slash::parse(line) {
            Some(Ok(slash)) => self.command(slash),
            Some(Err((message, help))) => Err(Failure::usage(message, help)),
            None => {
                let trimmed = line.trim_end();
                // `//` escapes a slash at the start of a message.
                let said = trimmed.strip_prefix('/').filter(|rest| rest.starts_with('/')).unwrap_or(trimmed);
                self.say(said, editor)
            }
        }
    }

    fn command(&mut self, slash: Slash) -> Result<Flow, Failure> {
        match slash {
            Slash::Help => {
                for (name, what) in COMMANDS {
                    self.output.print_stderr(&format!("  {} {what}", styled(CYAN, format!("{name:<9}"))));
                }
                self.output.print_stderr(
                    "A line that ends in \\ continues on the next; // starts a message with a slash.",
                );
            }
            Slash::Prompt => self.show_prompt()?,
            Slash::Explain => {
                let built = self.running.workspace.build(&self.full_request()?)?;
                command::explain::show(&built, self.output)?;
            }
            Slash::As(someone) => self.switch_speaker(someone),
            Slash::Agent(to) => self.agents(to)?,
            Slash::Compact => return self.compact(),
            Slash::Cost => self.show_cost()?,
            Slash::New => {
                self.conversation = new_conversation()?;
                self.pending = settings::checked(self.args, self.process, &self.running.agent, Stage::New)?;
                self.requested_agent = self.args.agent.as_deref().map(Arc::from);
                self.note(&styled(DIM, format!("conversation {}", self.conversation)));
            }
            Slash::Quit => return Ok(Flow::Quit),
        }
        Ok(Flow::GoOn)
    }

    fn show_prompt(&self) -> Result<(), Failure> {
        let text = self.running.workspace.build(&self.full_request()?)?.prompt.text();
        if self.output.wants_json() {
            return self.json_line(json!({ "type": "prompt", "text": text }));
        }
        self.output.print(&text)
    }

    fn show_cost(&self) -> Result<(), Failure> {
        let Total { usage, cost, turns } = self.total;
        if self.output.wants_json() {
            return self.json_line(json!({ "type": "cost", "turns": turns, "usage": usage, "cost": cost }));
        }
        let turns = counted(u64::from(turns), "turn");
        self.output.print_stderr(&format!("{turns} in this chat: {}", usage_line(usage, cost)));
        Ok(())
    }

    fn switch_speaker(&mut self, someone: As) {
        self.speaker = if someone == As::default() { speaker::named(self.args) } else { someone };
        self.warn_unknown_names();
        let config = &self.running.workspace.snapshot().config;
        let request = self.request();
        let who = request.principal(config);
        let name = who.user.as_ref().map_or("an unknown user", |user| &*user.name);
        let (situation, trust) = (escape_invisible(&who.occasion.situation), who.trust.effective());
        self.note(&styled(DIM, format!("you are {name} in `{situation}`, with trust `{trust}`")));
    }

    fn warn_unknown_names(&self) {
        let (user, situation) = (self.speaker.user.as_deref(), self.speaker.situation.as_deref());
        for warning in unknown_name_warnings(user, situation, &self.running.workspace.snapshot().config) {
            self.output.warn(&warning);
        }
        let names = Names {
            user,
            channel: self.speaker.channel.as_deref(),
            agent: self.args.agent.as_deref(),
            model: self.args.model.as_deref(),
        };
        names.warn(&self.running.workspace.snapshot().config, self.output);
    }

    /// Warns if the provider has retired the model or soon will.
    fn warn_of_retirement(&self) {
        let config = Arc::clone(&self.view().config);
        let model = self.args.model.as_deref().unwrap_or(&config.agent.model);
        let facts = config.models.resolve(model);
        if let Some(warning) = facts.and_then(|facts| facts.retirement_warning(self.process.now.date())) {
            self.output.warn(&format!("{}; {}", warning.message, warning.help));
        }
    }

    /// Prints a message to standard error, unless the output is JSON.
    pub(super) fn note(&self, text: &str) {
        if !self.output.wants_json() {
            self.output.print_stderr(text);
        }
    }

    /// Prints a JSON line.
    pub(super) fn json_line(&self, mut line: Value) -> Result<(), Failure> {
        line["sessionId"] = json!(self.conversation.as_str());
        self.output.print(&line.to_string())
    }

    pub(super) fn occasion(&self) -> TurnOrigin {
        TurnOrigin {
            speaker: Speaker {
                agent: self.requested_agent.clone(),
                ..speaker::occasion(&self.speaker, self.args).speaker.clone()
            },
            ..speaker::occasion(&self.speaker, self.args)
        }
    }

    fn request(&self) -> Request {
        let request = speaker::request(self.occasion(), &self.conversation, self.process);
        Request { speaker: Speaker { agent: self.agent(), ..request.speaker.clone() }, ..request }
    }

    /// The request with stored texts.
    fn full_request(&self) -> Result<Request, Failure> {
        let config = Arc::clone(&self.view().config);
        let stored = self.running.wait(self.running.store.current_texts(&config.blueprint.name))?;
        let settings = self.running.wait(self.running.store.conversation_settings(&self.conversation))?;
        let mut request = Request { stored: Some(Arc::new(stored)), ..self.request() };
        let settings = self.pending.applied_to(&settings);
        apply(&self.running.workspace, &settings, &mut request).map_err(AgentError::from)?;
        Ok(request)
    }
}

/// A random id for a new conversation.
pub(crate) fn new_conversation() -> Result<ConversationId, Failure> {
    let mut chance = [0; 2];
    getrandom::fill(&mut chance).map_err(|error| {
        Failure::failed(format!("can't get random bytes: {error}"), "name one with --conversation")
    })?;
    let moment = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    ConversationId::new(format!("chat-{moment}-{:04x}", u16::from_be_bytes(chance)))
        .map_err(|error| Failure::failed(error.to_string(), "name one with --conversation"))
}
