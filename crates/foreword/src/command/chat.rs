//! `foreword chat`: a streamed conversation in the terminal. Answers go to standard output, everything else to standard
//! error.

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
use crate::process_context::ProcessContext;
use crate::running_agent::RunningAgent;
use crate::workspace_store::author;

/// Reads all of standard input as one message.
const STDIN_ARGUMENT: &str = "-";

pub(crate) fn run(args: &ChatArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let message = message(args)?;
    let running = RunningAgent::start(process)?;
    let result = converse(args, process, &running, message, output);
    running.stop();
    result
}

/// The message on the command line or on standard input.
fn message(args: &ChatArgs) -> Result<Option<String>, Failure> {
    let said = match args.message() {
        Some(dash) if dash == STDIN_ARGUMENT => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| unreadable(&error))?;
            text
        }
        Some(said) => said,
        None => return Ok(None),
    };
    if said.trim().is_empty() {
        return Err(empty_message());
    }
    Ok(Some(said))
}

fn converse(
    args: &ChatArgs,
    process: &ProcessContext,
    running: &RunningAgent,
    message: Option<String>,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let conversation = conversation(args, running)?;
    // Interrupted turns of other conversations are not recovered: a chat may end at any moment.
    running.wait(running.agent.recover_conversation(&conversation)).map_err(Failure::from)?;
    let mut session = Session::new(running, process, output, conversation, args)?;
    if let Some(message) = message {
        return Ok(exit_code(session.line(&message, None)?));
    }
    let at_terminal = std::io::stdin().is_terminal();
    if at_terminal && std::io::stdout().is_terminal() && !output.wants_json() {
        return interactive(&mut session, running, output);
    }
    if at_terminal {
        output.print_stderr(&styled(DIM, "one message per line; Ctrl-D ends"));
    }
    piped(&mut session, output)
}

/// Sends the messages on standard input one after the other. A failed one does not stop the rest.
fn piped(session: &mut Session<'_>, output: &Output) -> Result<ExitCode, Failure> {
    let (mut code, mut said) = (ExitCode::SUCCESS, false);
    for message in messages(std::io::stdin().lock()) {
        let message = message.map_err(|error| unreadable(&error))?;
        said |= !message.trim().is_empty();
        session.report_reloads();
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
    if said { Ok(code) } else { Err(empty_message()) }
}

fn interactive(
    session: &mut Session<'_>,
    running: &RunningAgent,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let mut editor = Editor::open(running.workspace.directory())?;
    session.print_start()?;
    loop {
        session.report_reloads();
        match editor.read(&session.prompt())? {
            Line::Text(line) => match session.line(&line, Some(&mut editor)) {
                Ok(Flow::Quit) => break,
                Ok(Flow::Failed) => {
                    output.print_stderr(&styled(DIM, "Press arrow-up to get your message back."))
                }
                Ok(Flow::GoOn | Flow::Stopped) => {}
                Err(failure @ Failure::Usage { .. }) => output.failure(&failure),
                Err(failure) => {
                    output.failure(&failure);
                    output.print_stderr(&styled(
                        DIM,
                        "Nothing was sent. Press arrow-up to get your line back.",
                    ));
                }
            },
            Line::Interrupted => output.print_stderr(&styled(DIM, "Ctrl-D or /quit quits.")),
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

/// The conversation to continue, or the id of a new one.
fn conversation(args: &ChatArgs, running: &RunningAgent) -> Result<ConversationId, Failure> {
    if let Some(id) = &args.conversation {
        return ConversationId::new(id)
            .map_err(|error| Failure::usage(error.to_string(), "omit --conversation for a new one"));
    }
    if !args.resume {
        return new_conversation();
    }
    let user = args.user.clone().unwrap_or_else(|| author(&running.workspace.snapshot().config));
    let page = ConversationPage::first(1).of_user(user.clone());
    let found = running.wait(running.store.conversations(page))?;
    found.into_iter().next().map(|conversation| conversation.id).ok_or_else(|| {
        Failure::failed(format!("`{user}` has no conversation yet"), "omit --continue to start one")
    })
}

fn empty_message() -> Failure {
    Failure::usage("the message is empty", "write a message, such as `foreword chat \"who am I?\"`")
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::failed(format!("can't read standard input: {error}"), "pipe UTF-8 text into it")
}
