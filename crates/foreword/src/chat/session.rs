//! One chat: who speaks, in which conversation, what it has cost; lines in, answers out.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::feed::{Feed, Progress};
use foreword_agent::inbound::{Inbound, Occasion, Watched};
use foreword_core::id::{ConversationId, MessageId, TurnId};
use foreword_core::message::Usage;
use foreword_core::money::{Money, Price};
use foreword_core::turn::{Asked, Question};
use foreword_core::turn_journal::Outcome;
use foreword_prompt::occasion::Channel;
use foreword_prompt::untrusted::single_line;
use foreword_workspace::request::Request;

use super::editor::Editor;
use super::show::{Show, asked_arguments, bill, visible};
use super::slash::{self, As, COMMANDS, Slash};
use crate::cli::ChatArgs;
use crate::command;
use crate::failure::Failure;
use crate::output::{BOLD, CYAN, DIM, Output, YELLOW, styled};
use crate::running::Running;
use crate::world::World;

/// Whether a chat goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    GoOn,
    Failed,
    Quit,
}

/// A chat.
pub(crate) struct Session<'a> {
    running: &'a Running,
    world: &'a World,
    output: &'a Output,
    conversation: ConversationId,
    args: &'a ChatArgs,
    speaker: As,
    usage: Usage,
    cost: Price,
    turns: u32,
}

/// A turn that is being watched.
struct Watching {
    feed: Feed,
    next: u64,
    message: MessageId,
    /// The turn that answers the message, once it has begun.
    turn: Option<TurnId>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        running: &'a Running,
        world: &'a World,
        output: &'a Output,
        (conversation, args): (ConversationId, &'a ChatArgs),
    ) -> Self {
        let speaker = speaker(args);
        let (usage, cost) = (Usage::default(), Price::Known(Money::ZERO));
        Self { running, world, output, conversation, args, speaker, usage, cost, turns: 0 }
    }

    /// Says one thing, shows the answer.
    pub(crate) fn one(&mut self, message: &str) -> Result<ExitCode, Failure> {
        match self.line(message, None)? {
            Flow::Failed => Ok(ExitCode::from(1)),
            Flow::GoOn | Flow::Quit => Ok(ExitCode::SUCCESS),
        }
    }

    pub(crate) fn greet(&self) {
        let config = &self.running.workspace.snapshot().config;
        let (name, model) = (&config.agent.name, self.args.model.as_deref().unwrap_or(&config.agent.model));
        self.output.say(&format!(
            "{} on {model}, conversation {}. {}",
            styled(BOLD, name),
            self.conversation,
            styled(DIM, "/help lists commands, Ctrl-C stops an answer, Ctrl-D leaves.")
        ));
    }

    /// What stands in front of the line.
    pub(crate) fn prompt(&self) -> String {
        let who = self.request().identify(&self.running.workspace.snapshot().config).occasion;
        let user = who.user.as_deref().unwrap_or("stranger").to_owned();
        let place = if &*who.situation == "dm" { String::new() } else { format!(" in {}", who.situation) };
        format!("{}> ", single_line(&format!("{user}{place}"), 40))
    }

    /// Does what a line asks for: a command, or something to say.
    pub(crate) fn line(&mut self, line: &str, editor: Option<&mut Editor>) -> Result<Flow, Failure> {
        if line.trim().is_empty() {
            return Ok(Flow::GoOn);
        }
        match slash::parse(line) {
            Some(Ok(slash)) => self.command(slash),
            Some(Err(message)) => {
                self.output.say(&format!("{} {message}", styled(YELLOW, "?")));
                Ok(Flow::GoOn)
            }
            None => {
                let trimmed = line.trim_end();
                // Two slashes say one.
                self.say(
                    trimmed.strip_prefix('/').filter(|rest| rest.starts_with('/')).unwrap_or(trimmed),
                    editor,
                )
            }
        }
    }

    fn command(&mut self, slash: Slash) -> Result<Flow, Failure> {
        match slash {
            Slash::Help => {
                for (name, what) in COMMANDS {
                    self.output.say(&format!("  {} {what}", styled(CYAN, format!("{name:<9}"))));
                }
            }
            Slash::Prompt => {
                let built = self.running.workspace.build(&self.full_request()?)?;
                self.output.print(&built.prompt.text())?;
            }
            Slash::Explain => {
                command::explain::show(&self.running.workspace, &self.full_request()?, self.output)?
            }
            Slash::As(someone) => self.become_somebody(someone),
            Slash::Compact => return self.compact(),
            Slash::Cost => {
                let turns = crate::output::counted(u64::from(self.turns), "turn");
                self.output.say(&format!("{turns} since this chat began: {}", bill(self.usage, self.cost)));
            }
            Slash::New => {
                let moment = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S%.3f").to_string();
                self.conversation = ConversationId::new(format!("chat-{moment}"))
                    .map_err(|error| Failure::failed(error.to_string(), "report this"))?;
                self.output.say(&styled(DIM, format!("conversation {}", self.conversation)));
            }
            Slash::Quit => return Ok(Flow::Quit),
        }
        Ok(Flow::GoOn)
    }

    fn become_somebody(&mut self, someone: As) {
        self.speaker = if someone == As::default() { speaker(self.args) } else { someone };
        let config = &self.running.workspace.snapshot().config;
        let request = self.request();
        let who = request.identify(config);
        let name = who.user.map_or("a stranger", |user| &*user.name);
        self.output.say(&styled(
            DIM,
            format!(
                "you are {name} in `{}`, trusted with `{}`",
                who.occasion.situation,
                who.trust.effective()
            ),
        ));
    }

    fn compact(&mut self) -> Result<Flow, Failure> {
        let done = self.running.wait(self.running.agent.compact(&self.conversation, self.occasion()));
        match done {
            Ok(shortened) => {
                let messages = crate::output::counted(shortened.removed as u64, "message");
                self.output.say(&format!(
                    "{messages} replaced by a summary, {}",
                    bill(shortened.usage, shortened.cost)
                ));
                self.add(shortened.usage, shortened.cost);
                Ok(Flow::GoOn)
            }
            Err(error) => {
                let error = visible(&error.to_string());
                self.output.say(&format!("{} {error}", styled(YELLOW, "not compacted:")));
                Ok(Flow::Failed)
            }
        }
    }

    fn say(&mut self, text: &str, mut editor: Option<&mut Editor>) -> Result<Flow, Failure> {
        let inbound = Inbound {
            conversation: self.conversation.clone(),
            occasion: self.occasion(),
            text: text.to_owned(),
            key: None,
        };
        let receipt = self.running.wait(self.running.agent.send(inbound)).map_err(Failure::from)?;
        let message = receipt.message.message.id.clone();
        let mut watching = Watching { feed: receipt.feed, next: receipt.from, message, turn: None };
        let mut show = Show::new(self.output);
        loop {
            match self.running.wait(self.watch(&mut watching, &mut show)) {
                Seen::Ended { outcome, usage, cost } => {
                    self.add(usage, cost);
                    return Ok(if outcome == Outcome::Failed { Flow::Failed } else { Flow::GoOn });
                }
                Seen::Asked(question) => {
                    let answer = self.ask(&question, editor.as_deref_mut());
                    self.running.agent.answer(&self.conversation, question.call, answer);
                }
            }
        }
    }

    /// Shows what happens until the turn has ended or the owner is asked. Ctrl-C stops the turn, not the program.
    async fn watch(&self, watching: &mut Watching, show: &mut Show<'_>) -> Seen {
        loop {
            let batch = tokio::select! {
                batch = watching.feed.read(watching.next) => batch,
                _ = tokio::signal::ctrl_c() => {
                    self.running.agent.cancel(&self.conversation);
                    continue;
                }
            };
            for item in batch.items {
                watching.next += 1;
                if let Progress::TurnStarted { turn, messages, .. } = &*item {
                    if messages.contains(&watching.message) {
                        watching.turn = Some(turn.clone());
                    }
                }
                show.progress(&item, self.conversation.as_str());
                match &*item {
                    Progress::Question(question) => return Seen::Asked(question.clone()),
                    Progress::TurnEnded { turn, outcome, usage, cost, .. }
                        if watching.turn.as_ref().is_none_or(|own| own == turn) =>
                    {
                        return Seen::Ended { outcome: *outcome, usage: *usage, cost: *cost };
                    }
                    _ => {}
                }
            }
        }
    }

    fn ask(&self, question: &Question, editor: Option<&mut Editor>) -> Asked {
        let arguments = asked_arguments(&serde_json::Value::Object(question.arguments.clone()));
        self.output.say(&format!(
            "{} the agent wants to run {} {}\n  {}",
            styled(YELLOW, "?"),
            styled(BOLD, single_line(&question.tool, 40)),
            arguments,
            styled(DIM, format!("{}, which may be why", visible(&question.because))),
        ));
        let Some(editor) = editor else {
            self.output.say(&styled(DIM, "nobody can answer here, so it is not run"));
            return Asked::No;
        };
        match editor.ask("  allow it? [y]es, [a]ll in this turn, [N]o: ").trim().to_lowercase().as_str() {
            "y" | "yes" => Asked::Once,
            "a" | "all" => Asked::RestOfTurn,
            _ => Asked::No,
        }
    }

    fn add(&mut self, usage: Usage, cost: Price) {
        self.turns += 1;
        self.usage = self.usage + usage;
        self.cost = self.cost + cost;
    }

    fn occasion(&self) -> Occasion {
        let text = |word: &Option<String>| word.as_deref().map(Arc::from);
        Occasion {
            user: text(&self.speaker.user),
            channel: self.speaker.channel.as_deref().map(Channel::new),
            situation: text(&self.speaker.situation),
            model: text(&self.args.model),
            cwd: None,
            session_instructions: text(&self.args.session_instructions),
            watched: Watched::AtScreen,
        }
    }

    /// Who speaks, as the workspace is asked.
    fn request(&self) -> Request {
        let occasion = self.occasion();
        Request {
            user: occasion.user,
            channel: occasion.channel,
            situation: occasion.situation,
            model: occasion.model,
            conversation: Some(self.conversation.as_str().into()),
            session_instructions: occasion.session_instructions,
            ..Request::at(jiff::Zoned::now(), self.world.marker)
        }
    }

    /// The same with what is stored.
    fn full_request(&self) -> Result<Request, Failure> {
        let config = Arc::clone(&self.running.workspace.snapshot().config);
        let stored = self.running.wait(self.running.store.current_texts(&config.blueprint.name))?;
        Ok(Request { stored: Some(Arc::new(stored)), ..self.request() })
    }
}

/// What a chat saw that it has to do something about.
enum Seen {
    Ended { outcome: Outcome, usage: Usage, cost: Price },
    Asked(Question),
}

fn speaker(args: &ChatArgs) -> As {
    As { user: args.user.clone(), situation: args.situation.clone(), channel: args.channel.clone() }
}
