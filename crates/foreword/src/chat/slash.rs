//! The commands of a chat: lines that begin with `/`.

use clap::Parser as _;
use foreword_prompt::diagnostic::did_you_mean;

/// What somebody asks of the chat itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Slash {
    Help,
    Prompt,
    Explain,
    As(As),
    Compact,
    Cost,
    New,
    Quit,
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

/// All commands, with what they do.
pub(crate) const COMMANDS: [(&str, &str); 8] = [
    ("/prompt", "the prompt as the model would read it now"),
    ("/explain", "why each piece of it is there, and its price"),
    ("/as", "speak as somebody else: /as bob --situation group; /as alone goes back"),
    ("/compact", "replace the conversation so far by its summary"),
    ("/cost", "what this conversation has cost"),
    ("/new", "begin another conversation"),
    ("/help", "this list"),
    ("/quit", "leave (also Ctrl-D)"),
];

/// The command in `line`, if it is one. Two slashes say a line that begins with one.
pub(crate) fn parse(line: &str) -> Option<Result<Slash, String>> {
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
        "/as" => return Some(As::try_parse_from(words).map(Slash::As).map_err(|error| first_line(&error))),
        other => return Some(Err(unknown(other))),
    };
    Some(match words.next() {
        Some(extra) => Err(format!("`{command}` takes nothing behind it, not `{extra}`")),
        None => Ok(slash),
    })
}

fn unknown(command: &str) -> String {
    let names = COMMANDS.iter().map(|(name, _)| *name);
    match did_you_mean(command, names) {
        Some(near) => format!("there is no `{command}`: did you mean `{near}`?"),
        None => format!(
            "there is no `{command}`: `/help` lists what there is, and `//` says a line that begins with `/`"
        ),
    }
}

fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or_default();
    format!("{}: write `/as bob --situation group`", line.strip_prefix("error: ").unwrap_or(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<Result<Slash, &str>>) {
        assert_eq!(parse(line), expected.map(|result| result.map_err(str::to_owned)), "{line}");
    }

    #[test]
    fn only_lines_with_one_slash_are_commands() {
        check("what's up?", None);
        check("//etc is a folder", None);
        check("  /prompt ", Some(Ok(Slash::Prompt)));
        check("/cost now", Some(Err("`/cost` takes nothing behind it, not `now`")));
        check("/explian", Some(Err("there is no `/explian`: did you mean `/explain`?")));
    }

    #[test]
    fn somebody_else_is_named_with_their_place() {
        let bob = As { user: Some("bob".into()), situation: Some("group".into()), channel: None };
        check("/as bob --situation group", Some(Ok(Slash::As(bob))));
        check("/as", Some(Ok(Slash::As(As::default()))));
        assert!(parse("/as bob --sitation group").unwrap().unwrap_err().contains("write `/as bob"));
    }
}
