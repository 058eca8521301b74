//! The commands of a chat: lines that begin with `/`.

use clap::Parser as _;
use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::untrusted::display_line;

/// What somebody asks of the chat itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Slash {
    Help,
    Prompt,
    Explain,
    As(As),
    /// List the agents, or give the conversation to one.
    Agent(Option<ToAgent>),
    Compact,
    Cost,
    New,
    Quit,
}

/// Whom to give the conversation to, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToAgent {
    pub(crate) name: String,
    pub(crate) reason: Option<String>,
}

/// Who to be from now on.
#[derive(Debug, Clone, PartialEq, Eq, Default, clap::Parser)]
#[command(name = "/as", no_binary_name = true, disable_help_flag = true)]
pub(crate) struct As {
    /// Who; left out, whoever sits at the terminal.
    pub(crate) user: Option<String>,
    /// In which situation.
    #[arg(long)]
    pub(crate) situation: Option<String>,
    /// On which channel.
    #[arg(long)]
    pub(crate) channel: Option<String>,
}

/// What is wrong with a command, and the way out.
pub(crate) type Mistyped = (String, String);

/// All commands, with what they do.
pub(crate) const COMMANDS: [(&str, &str); 9] = [
    ("/prompt", "the prompt as the model would read it now"),
    ("/explain", "why each piece of it is there, and its price"),
    ("/as", "speak as somebody else: /as bob --situation group; /as alone goes back"),
    ("/agent", "the agents there are; /agent clerk gives the conversation to one, with a reason behind it"),
    ("/compact", "replace the conversation so far by its summary"),
    ("/cost", "what this chat has cost so far"),
    ("/new", "begin another conversation"),
    ("/help", "this list"),
    ("/quit", "leave (also Ctrl-D)"),
];

/// The command in `line`, if it is one; else what is wrong with it, and the way out. Two slashes say a line that begins
/// with one.
pub(crate) fn parse(line: &str) -> Option<Result<Slash, Mistyped>> {
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
        "/as" => return Some(As::try_parse_from(words).map(Slash::As).map_err(|error| badly_named(&error))),
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
        Some(_) => Err((format!("`{command}` takes nothing behind it"), format!("write `{command}` alone"))),
        None => Ok(slash),
    })
}

fn unknown(command: &str) -> Mistyped {
    let names = COMMANDS.iter().map(|(name, _)| *name);
    let help = match did_you_mean(command, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`/help` lists what there is, and `//` says a line that begins with `/`".to_owned(),
    };
    (format!("there is no `{}`", display_line(command, 40)), help)
}

fn badly_named(error: &clap::Error) -> Mistyped {
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

    fn check_mistyped(line: &str, message: &str, help: &str) {
        let (told, way_out) = parse(line).unwrap().unwrap_err();
        assert!(told.contains(message) && way_out.contains(help), "{told}: {way_out}");
    }

    #[test]
    fn only_lines_with_one_slash_are_commands() {
        check("what's up?", None);
        check("//etc is a folder", None);
        check("  /prompt ", Some(Slash::Prompt));
        check_mistyped("/cost now", "`/cost` takes nothing behind it", "write `/cost` alone");
        check_mistyped("/explian", "there is no `/explian`", "did you mean `/explain`?");
        check_mistyped("/etc/passwd", "there is no `/etc/passwd`", "`//` says a line");
    }

    #[test]
    fn an_agent_is_named_alone_or_with_a_reason() {
        let to = |name: &str, reason: Option<&str>| {
            Slash::Agent(Some(ToAgent { name: name.into(), reason: reason.map(str::to_owned) }))
        };
        check("/agent", Some(Slash::Agent(None)));
        check("/agent clerk", Some(to("clerk", None)));
        check("/agent clerk a letter  to answer", Some(to("clerk", Some("a letter to answer"))));
    }

    #[test]
    fn somebody_else_is_named_with_their_place() {
        let bob = As { user: Some("bob".into()), situation: Some("group".into()), channel: None };
        check("/as bob --situation group", Some(Slash::As(bob)));
        check("/as", Some(Slash::As(As::default())));
        check_mistyped("/as bob --sitation group", "--sitation", "`/as bob --situation group`");
    }
}
