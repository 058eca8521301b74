//! One chat: who speaks, in which conversation, what it has cost; lines in, answers out.

use std::sync::Arc;

use foreword_agent::inbound::Occasion;
use foreword_agent::watching::Reloaded;
use foreword_core::id::ConversationId;
use foreword_core::message::Usage;
use foreword_core::money::{Money, Price};
use foreword_prompt::untrusted::display_line;
use foreword_workspace::request::Request;
use serde_json::{Value, json};

use super::editor::Editor;
use super::interrupts::Interrupts;
use super::one_line::exposed;
use super::recall::last_exchange;
use super::show::bill;
use super::slash::{self, As, COMMANDS, Slash};
use super::speaker;
use crate::cli::ChatArgs;
use crate::command;
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::oddities;
use crate::output::{BOLD, CYAN, DIM, Output, YELLOW, counted, styled};
use crate::running::Running;
use crate::world::World;

/// Whether a chat goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    GoOn,
    /// The turn failed.
    Failed,
    /// Somebody stopped the turn.
    Stopped,
    Quit,
}

/// A chat.
pub(crate) struct Session<'a> {
    pub(super) running: &'a Running,
    pub(super) world: &'a World,
    pub(super) output: &'a Output,
    pub(super) conversation: ConversationId,
    args: &'a ChatArgs,
    speaker: As,
    /// The agent that a conversation that has not begun is to belong to.
    pub(super) wanted: Option<Arc<str>>,
    pub(super) total: Total,
    pub(super) interrupts: Interrupts,
}

/// What a chat has cost.
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
        running: &'a Running,
        world: &'a World,
        output: &'a Output,
        (conversation, args): (ConversationId, &'a ChatArgs),
    ) -> Result<Self, Failure> {
        let total = Total { usage: Usage::default(), cost: Price::Known(Money::ZERO), turns: 0 };
        let interrupts = running.wait(async { Interrupts::listen() }).map_err(|error| {
            Failure::failed(
                format!("can't listen for Ctrl-C: {error}"),
                "check the operating system's limits",
            )
        })?;
        let session = Self {
            running,
            world,
            output,
            conversation,
            args,
            speaker: speaker::named(args),
            wanted: args.agent.as_deref().map(Arc::from),
            total,
            interrupts,
        };
        session.check_agent()?;
        session.tell_oddities();
        Ok(session)
    }

    /// Says where one is; in a conversation that has begun before, how it ended.
    pub(crate) fn greet(&self) -> Result<(), Failure> {
        let config = Arc::clone(&self.view().config);
        let (name, model) = (&config.agent.name, self.args.model.as_deref().unwrap_or(&config.agent.model));
        let trust = self.request().identify(&config).trust.effective();
        let history = self.running.wait(self.running.store.history_at(&self.conversation, trust))?;
        let last = last_exchange(&history, name);
        let word = if last.is_empty() { "New conversation" } else { "Going on with" };
        let (name, model) = (styled(BOLD, exposed(name)), exposed(model));
        self.output.say(&format!("{name} on {model}. {word} {}.", self.conversation));
        self.output.say(&styled(DIM, "/help lists commands. Ctrl-C stops an answer, Ctrl-D leaves."));
        for line in last {
            self.output.say(&styled(DIM, line));
        }
        Ok(())
    }

    /// What stands in front of the line.
    pub(crate) fn prompt(&self) -> String {
        let who = self.request().identify(&self.running.workspace.snapshot().config).occasion;
        let user = who.user.as_deref().unwrap_or("stranger").to_owned();
        let place = if &*who.situation == "dm" { String::new() } else { format!(" in {}", who.situation) };
        format!("{}> ", display_line(&format!("{user}{place}"), 40))
    }

    /// Tells what became of edited files since the last time.
    pub(crate) fn tell_reloads(&self) {
        for reloaded in self.running.reloaded() {
            match reloaded {
                Reloaded::Changed(sections) if sections.is_empty() => {}
                Reloaded::Changed(sections) => {
                    let sections = sections.join("`, `");
                    self.note(&styled(
                        DIM,
                        format!("foreword.yaml changed: `{sections}`, in force from now on"),
                    ));
                }
                Reloaded::Refused(why) => self.note(&styled(
                    YELLOW,
                    format!("foreword.yaml is refused and the old one stays in force: {}", exposed(&why)),
                )),
            }
        }
    }

    /// Does what a line asks for: a command, or something to say.
    pub(crate) fn line(&mut self, line: &str, editor: Option<&mut Editor>) -> Result<Flow, Failure> {
        if line.trim().is_empty() {
            return Ok(Flow::GoOn);
        }
        match slash::parse(line) {
            Some(Ok(slash)) => self.command(slash),
            Some(Err((message, help))) => Err(Failure::usage(message, help)),
            None => {
                let trimmed = line.trim_end();
                // Two slashes say one.
                let said = trimmed.strip_prefix('/').filter(|rest| rest.starts_with('/')).unwrap_or(trimmed);
                self.say(said, editor)
            }
        }
    }

    fn command(&mut self, slash: Slash) -> Result<Flow, Failure> {
        match slash {
            Slash::Help => {
                for (name, what) in COMMANDS {
                    self.output.say(&format!("  {} {what}", styled(CYAN, format!("{name:<9}"))));
                }
                self.output
                    .say("A line that ends in \\ goes on in the next; // says a line that begins with /.");
            }
            Slash::Prompt => self.show_prompt()?,
            Slash::Explain => {
                command::explain::show(&self.running.workspace, &self.full_request()?, self.output)?;
            }
            Slash::As(someone) => self.become_somebody(someone),
            Slash::Agent(to) => self.agents(to)?,
            Slash::Compact => return self.compact(),
            Slash::Cost => self.show_cost()?,
            Slash::New => {
                self.conversation = new_conversation()?;
                self.wanted = self.args.agent.as_deref().map(Arc::from);
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
        self.output.say(&format!("{turns} since this chat began: {}", bill(usage, cost)));
        Ok(())
    }

    fn become_somebody(&mut self, someone: As) {
        self.speaker = if someone == As::default() { speaker::named(self.args) } else { someone };
        self.tell_oddities();
        let config = &self.running.workspace.snapshot().config;
        let request = self.request();
        let who = request.identify(config);
        let name = who.user.map_or("a stranger", |user| &*user.name);
        let (situation, trust) = (exposed(&who.occasion.situation), who.trust.effective());
        self.note(&styled(DIM, format!("you are {name} in `{situation}`, trusted with `{trust}`")));
    }

    fn tell_oddities(&self) {
        let (user, situation) = (self.speaker.user.as_deref(), self.speaker.situation.as_deref());
        for oddity in oddities(user, situation, &self.running.workspace.snapshot().config) {
            self.output.warn(&oddity);
        }
        let names = Names {
            user,
            channel: self.speaker.channel.as_deref(),
            agent: self.args.agent.as_deref(),
            model: self.args.model.as_deref(),
        };
        names.warn(&self.running.workspace.snapshot().config, self.output);
    }

    /// Talk that programs have no use for.
    pub(super) fn note(&self, text: &str) {
        if !self.output.wants_json() {
            self.output.say(text);
        }
    }

    /// A line for programs.
    pub(super) fn json_line(&self, mut line: Value) -> Result<(), Failure> {
        line["sessionId"] = json!(self.conversation.as_str());
        self.output.print(&line.to_string())
    }

    pub(super) fn occasion(&self) -> Occasion {
        Occasion { agent: self.wanted.clone(), ..speaker::occasion(&self.speaker, self.args) }
    }

    /// Who speaks, as the workspace is asked.
    fn request(&self) -> Request {
        let request = speaker::request(self.occasion(), &self.conversation, self.world);
        Request { agent: self.agent(), ..request }
    }

    /// The same with what is stored.
    fn full_request(&self) -> Result<Request, Failure> {
        let config = Arc::clone(&self.view().config);
        let stored = self.running.wait(self.running.store.current_texts(&config.blueprint.name))?;
        Ok(Request { stored: Some(Arc::new(stored)), ..self.request() })
    }
}

/// The name of a conversation that has not begun.
pub(crate) fn new_conversation() -> Result<ConversationId, Failure> {
    let mut chance = [0; 2];
    getrandom::fill(&mut chance).map_err(|error| {
        Failure::failed(format!("no random numbers: {error}"), "name one with --conversation")
    })?;
    let moment = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    ConversationId::new(format!("chat-{moment}-{:04x}", u16::from_be_bytes(chance)))
        .map_err(|error| Failure::failed(error.to_string(), "name one with --conversation"))
}
