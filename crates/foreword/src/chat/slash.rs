//! The slash commands of a chat.

use clap::Parser as _;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Slash {
    Help,
    Prompt,
    Explain,
    As(As),
    /// Lists the agents, or hands the conversation to one.
    Agent(Option<ToAgent>),
    Compact,
    Cost,
    New,
    Quit,
}

/// The agent that takes over, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToAgent {
    pub(crate) name: String,
    pub(crate) reason: Option<String>,
}

/// The speaker of the next messages.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Parser)]
#[command(name = "/as", no_binary_name = true, disable_help_flag = true)]
pub(crate) struct As {
    /// The user; without it, the one at the terminal.
    pub(crate) user: Option<String>,
    #[arg(long)]
    pub(crate) situation: Option<String>,
    #[arg(long)]
    pub(crate) channel: Option<String>,
}

/// The message and the help for an invalid command.
pub(crate) type InvalidCommand = (String, String);

/// All commands, with their help.
pub(crate) const COMMANDS: [(&str, &str); 9] = [
    ("/prompt", "the current prompt"),
    ("/explain", "why each layer is included, and its cost"),
    ("/as", "speak as another user: /as bob --situation group; /as without a user switches back"),
    ("/agent", "list agents; /agent clerk REASON hands the conversation to one"),
    ("/compact", "replace the conversation with its summary"),
    ("/cost", "the cost of this chat"),
    ("/new", "start a new conversation"),
    ("/help", "this list"),
    ("/quit", "quit (also Ctrl-D)"),
];

/// Parses a slash command. `None` if `line` is a message, which may start with an escaped slash (`//`).
pub(crate) fn parse(line: &str) -> Option<Result<Slash, InvalidCommand>> {
    let line = line.trim();
    if !line.starts_with('/') || line.starts_with("//") {
        return None;
    }
    let mut words = line.split_whitespace();
    let command = words.next().unwrap_or_default();
    let slash = match command {
        "/help" | "/?" => Slash::Help,
        "/prompt" => Slash::Prompt,
        "/explain" => Slash::Explain,
        "/compact" => Slash::Compact,
        "/cost" => Slash::Cost,
        "/new" => Slash::New,
        "/quit" | "/exit" => Slash::Quit,
        "/as" => return Some(As::try_parse_from(words).map(Slash::As).map_err(|error| invalid_as(&error))),
        "/agent" => {
            let reason = |words: std::str::SplitWhitespace<'_>| words.collect::<Vec<_>>().join(" ");
            let to = words.next().map(|name| {
                let reason = Some(reason(words)).filter(|reason| !reason.is_empty());
                ToAgent { name: name.to_owned(), reason }
            });
            return Some(Ok(Slash::Agent(to)));
        }
        other => return Some(Err(unknown(other))),
    };
    Some(match words.next() {
        Some(_) => Err((format!("`{command}` takes no arguments"), format!("write only `{command}`"))),
        None => Ok(slash),
    })
}

fn unknown(command: &str) -> InvalidCommand {
    let names = COMMANDS.iter().map(|(name, _)| *name);
    let help = match did_you_mean(command, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            "`/help` lists the commands; start with `//` for a message that begins with a slash".to_owned()
        }
    };
    (format!("unknown command `{}`", display_line(command, 40)), help)
}

fn invalid_as(error: &clap::Error) -> InvalidCommand {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    let message = line.strip_prefix("error: ").unwrap_or(line).trim_end_matches(':');
    (display_line(&message.replace('\'', ""), 200), "write it as `/as bob --situation group`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<Slash>) {
        assert_eq!(parse(line), expected.map(Ok), "{line}");
    }

    fn check_invalid(line: &str, message: &str, help: &str) {
        let (printed, printed_help) = parse(line).unwrap().unwrap_err();
        assert!(printed.contains(message) && printed_help.contains(help), "{printed}: {printed_help}");
    }

    #[test]
    fn commands_start_with_a_single_slash() {
        check("what's up?", None);
        check("//etc is a folder", None);
        check("  /prompt ", Some(Slash::Prompt));
        check_invalid("/cost now", "`/cost` takes no arguments", "write only `/cost`");
        check_invalid("/explian", "unknown command `/explian`", "did you mean `/explain`?");
        check_invalid("/etc/passwd", "unknown command `/etc/passwd`", "start with `//`");
    }

    #[test]
    fn agent_takes_a_name_and_reason() {
        let to = |name: &str, reason: Option<&str>| {
            Slash::Agent(Some(ToAgent { name: name.into(), reason: reason.map(str::to_owned) }))
        };
        check("/agent", Some(Slash::Agent(None)));
        check("/agent clerk", Some(to("clerk", None)));
        check("/agent clerk a letter  to answer", Some(to("clerk", Some("a letter to answer"))));
    }

    #[test]
    fn as_takes_a_user_and_situation() {
        let bob = As { user: Some("bob".into()), situation: Some("group".into()), channel: None };
        check("/as bob --situation group", Some(Slash::As(bob)));
        check("/as", Some(Slash::As(As::default())));
        check_invalid("/as bob --sitation group", "--sitation", "`/as bob --situation group`");
    }
}
