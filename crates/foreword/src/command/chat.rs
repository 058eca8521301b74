//! `foreword chat`: a conversation in the terminal, streamed. Answers go to standard output, everything about them to
//! standard error.

use std::io::{BufRead as _, IsTerminal as _};
use std::process::ExitCode;

use foreword_core::id::ConversationId;
use foreword_store::conversations::ConversationPage;

use crate::chat::editor::{Editor, Line};
use crate::chat::session::{Flow, Session};
use crate::cli::ChatArgs;
use crate::failure::Failure;
use crate::output::{DIM, Output, styled};
use crate::running::Running;
use crate::stored::author;
use crate::world::World;

pub(crate) fn run(args: &ChatArgs, world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let running = Running::start(world)?;
    let result = converse(args, world, &running, output);
    running.stop();
    result
}

fn converse(args: &ChatArgs, world: &World, running: &Running, output: &Output) -> Result<ExitCode, Failure> {
    let conversation = conversation(args, world, running)?;
    // A name alone is not yet a conversation: only the first message makes it one.
    running.wait(running.agent.recover()).map_err(Failure::from)?;
    let mut session = Session::new(running, world, output, (conversation, args));
    if let Some(message) = args.message() {
        return session.one(&message);
    }
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !output.wants_json() {
        return interactive(&mut session, running, output);
    }
    let mut code = ExitCode::SUCCESS;
    for line in std::io::stdin().lock().lines() {
        let line =
            line.map_err(|error| Failure::failed(format!("can't read: {error}"), "give it text in UTF-8"))?;
        match session.line(&line, None)? {
            Flow::GoOn => {}
            Flow::Failed => code = ExitCode::from(1),
            Flow::Quit => break,
        }
    }
    Ok(code)
}

fn interactive(session: &mut Session<'_>, running: &Running, output: &Output) -> Result<ExitCode, Failure> {
    let mut editor = Editor::open(running.workspace.directory())?;
    session.greet();
    loop {
        match editor.read(&session.prompt())? {
            Line::Words(line) => {
                if session.line(&line, Some(&mut editor))? == Flow::Quit {
                    break;
                }
            }
            Line::Interrupted => output.say(&styled(DIM, "(Ctrl-D or /quit leaves)")),
            Line::End => break,
        }
    }
    editor.keep();
    Ok(ExitCode::SUCCESS)
}

/// The conversation to go on with, or the name of a new one.
fn conversation(args: &ChatArgs, world: &World, running: &Running) -> Result<ConversationId, Failure> {
    if let Some(id) = &args.conversation {
        return ConversationId::new(id)
            .map_err(|error| Failure::usage(error.to_string(), "leave --conversation out for a new one"));
    }
    if args.resume {
        let user = args.user.clone().unwrap_or_else(|| author(&running.workspace.snapshot().config));
        let page = ConversationPage::first(1).of_user(user.clone());
        let found = running.wait(running.store.conversations(page))?;
        return found.into_iter().next().map(|conversation| conversation.id).ok_or_else(|| {
            Failure::failed(format!("`{user}` has no conversation yet"), "leave --continue out to begin one")
        });
    }
    let id = format!("chat-{}", world.now.strftime("%Y%m%d-%H%M%S"));
    let suffix = u16::from_be_bytes([world.marker[0], world.marker[1]]);
    ConversationId::new(format!("{id}-{suffix:04x}"))
        .map_err(|error| Failure::failed(error.to_string(), "name one with --conversation"))
}
