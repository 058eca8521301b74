//! `foreword chat`: a conversation in the terminal, streamed. Answers go to standard output, everything about them to
//! standard error.

use std::io::{IsTerminal as _, Read as _};
use std::process::ExitCode;

use foreword_core::id::ConversationId;
use foreword_store::conversations::ConversationPage;

use crate::chat::editor::{Editor, Line};
use crate::chat::messages;
use crate::chat::session::{Flow, Session, new_conversation};
use crate::cli::ChatArgs;
use crate::failure::Failure;
use crate::output::{DIM, Output, styled};
use crate::running::Running;
use crate::stored::author;
use crate::world::World;

/// A message as long as standard input.
const ALL_OF_IT: &str = "-";

pub(crate) fn run(args: &ChatArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let message = message(args)?;
    let running = Running::start(world)?;
    let result = converse(args, world, &running, (message, output));
    running.stop();
    result
}

/// What the command line wants to say.
fn message(args: &ChatArgs) -> Result<Option<String>, Failure> {
    let said = match args.message() {
        Some(dash) if dash == ALL_OF_IT => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| unreadable(&error))?;
            text
        }
        Some(said) => said,
        None => return Ok(None),
    };
    if said.trim().is_empty() {
        return Err(wordless());
    }
    Ok(Some(said))
}

fn converse(
    args: &ChatArgs,
    world: &World,
    running: &Running,
    (message, output): (Option<String>, &Output),
) -> Result<ExitCode, Failure> {
    let conversation = conversation(args, running)?;
    // What was cut off in other conversations is not for a chat to take up, which may end at any moment.
    running.wait(running.agent.recover_conversation(&conversation)).map_err(Failure::from)?;
    let mut session = Session::new(running, world, output, (conversation, args))?;
    if let Some(message) = message {
        return Ok(exit_code(session.line(&message, None)?));
    }
    let at_terminal = std::io::stdin().is_terminal();
    if at_terminal && std::io::stdout().is_terminal() && !output.wants_json() {
        return interactive(&mut session, running, output);
    }
    if at_terminal {
        output.say(&styled(DIM, "one message a line; Ctrl-D ends"));
    }
    piped(&mut session, output)
}

/// Says what is piped in, one message after the other. One that fails does not keep the others from being said.
fn piped(session: &mut Session<'_>, output: &Output) -> Result<ExitCode, Failure> {
    let (mut code, mut said) = (ExitCode::SUCCESS, false);
    for message in messages(std::io::stdin().lock()) {
        let message = message.map_err(|error| unreadable(&error))?;
        said |= !message.trim().is_empty();
        session.tell_reloads();
        match session.line(&message, None) {
            Ok(Flow::GoOn) => {}
            Ok(Flow::Failed) => code = ExitCode::from(1),
            Ok(Flow::Stopped) => return Ok(exit_code(Flow::Stopped)),
            Ok(Flow::Quit) => break,
            Err(failure) => {
                output.failure(&failure);
                code = failure.exit_code();
            }
        }
    }
    if said { Ok(code) } else { Err(wordless()) }
}

fn interactive(session: &mut Session<'_>, running: &Running, output: &Output) -> Result<ExitCode, Failure> {
    let mut editor = Editor::open(running.workspace.directory())?;
    session.greet()?;
    loop {
        session.tell_reloads();
        match editor.read(&session.prompt())? {
            Line::Words(line) => match session.line(&line, Some(&mut editor)) {
                Ok(Flow::Quit) => break,
                Ok(Flow::Failed) => output.say(&styled(DIM, "Arrow-up brings your message back.")),
                Ok(Flow::GoOn | Flow::Stopped) => {}
                Err(failure @ Failure::Usage { .. }) => output.failure(&failure),
                Err(failure) => {
                    output.failure(&failure);
                    output.say(&styled(DIM, "Nothing was sent. Arrow-up brings your line back."));
                }
            },
            Line::Interrupted => output.say(&styled(DIM, "Ctrl-D or /quit leaves.")),
            Line::End => break,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn exit_code(flow: Flow) -> ExitCode {
    match flow {
        Flow::GoOn | Flow::Quit => ExitCode::SUCCESS,
        Flow::Failed | Flow::Stopped => ExitCode::from(1),
    }
}

/// The conversation to go on with, or the name of a new one.
fn conversation(args: &ChatArgs, running: &Running) -> Result<ConversationId, Failure> {
    if let Some(id) = &args.conversation {
        return ConversationId::new(id)
            .map_err(|error| Failure::usage(error.to_string(), "leave --conversation out for a new one"));
    }
    if !args.resume {
        return new_conversation();
    }
    let user = args.user.clone().unwrap_or_else(|| author(&running.workspace.snapshot().config));
    let page = ConversationPage::first(1).of_user(user.clone());
    let found = running.wait(running.store.conversations(page))?;
    found.into_iter().next().map(|conversation| conversation.id).ok_or_else(|| {
        Failure::failed(format!("`{user}` has no conversation yet"), "leave --continue out to begin one")
    })
}

fn wordless() -> Failure {
    Failure::usage("there are no words to answer", "say something, such as `foreword chat \"who am I?\"`")
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::failed(format!("can't read standard input: {error}"), "pipe text in UTF-8 into it")
}
