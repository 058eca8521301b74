//! Parses a command line roughly as a shell does: simple commands, each as its words, quotes removed. Sufficient to
//! detect accidents; deliberate obfuscation is not detected.

/// The maximum nesting depth of commands.
const MAX_DEPTH: usize = 8;
/// Programs that run the command after them.
const WRAPPERS: [&str; 22] = [
    "sudo", "doas", "env", "nohup", "time", "nice", "ionice", "command", "exec", "builtin", "setsid",
    "timeout", "xargs", "stdbuf", "if", "then", "else", "elif", "do", "while", "until", "!",
];
/// Programs that run a string as a command.
const SHELLS: [&str; 6] = ["bash", "sh", "dash", "zsh", "ksh", "eval"];

/// The simple commands in `line`, each as its words, including those in `$(…)`, backticks and `sh -c '…'`. A
/// redirection is one word, such as `>/dev/null`.
pub(super) fn simple_commands(line: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    collect(line, 0, &mut found);
    found
}

fn collect(line: &str, depth: usize, found: &mut Vec<Vec<String>>) {
    if depth > MAX_DEPTH {
        return;
    }
    for words in split(line) {
        let words = without_wrappers(words);
        if let Some(program) = words.first() {
            if SHELLS.contains(&base_name(program)) {
                let inner: Vec<&str> =
                    words[1..].iter().filter(|word| !word.starts_with('-')).map(String::as_str).collect();
                collect(&inner.join(" "), depth + 1, found);
            }
            found.push(words);
        }
    }
}

/// The file name of a program.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The command itself, without `sudo -n`, `FOO=1`, `timeout 5` and similar prefixes.
fn without_wrappers(words: Vec<String>) -> Vec<String> {
    let mut wrapped = false;
    let start = words.iter().position(|word| {
        let wrapper = WRAPPERS.contains(&base_name(word));
        let assignment = word.split_once('=').is_some_and(|(name, _)| is_name(name));
        // Options and numbers after a wrapper belong to the wrapper.
        let of_wrapper = wrapped && (word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit()));
        wrapped |= wrapper;
        !(wrapper || assignment || of_wrapper)
    });
    start.map(|start| words[start..].to_vec()).unwrap_or_default()
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

/// The words parsed so far.
#[derive(Default)]
struct ParsedWords {
    commands: Vec<Vec<String>>,
    command: Vec<String>,
    word: String,
}

impl ParsedWords {
    fn end_word(&mut self) {
        // `>` is joined with the file name that follows.
        if !self.word.is_empty() && !self.word.ends_with('>') {
            self.command.push(std::mem::take(&mut self.word));
        }
    }

    fn end_command(&mut self) {
        if !self.word.is_empty() {
            self.command.push(std::mem::take(&mut self.word));
        }
        if !self.command.is_empty() {
            self.commands.push(std::mem::take(&mut self.command));
        }
    }
}

/// The state of quotes and brackets.
struct Inside {
    quote: Quote,
    /// The quotes around each open bracket.
    brackets: Vec<Quote>,
    /// The quotes around an open backtick.
    backtick: Option<Quote>,
}

impl Inside {
    fn open_bracket(&mut self) {
        self.brackets.push(std::mem::replace(&mut self.quote, Quote::None));
    }

    fn close_bracket(&mut self) {
        self.quote = self.brackets.pop().unwrap_or(Quote::None);
    }

    fn turn_backtick(&mut self) {
        match self.backtick.take() {
            Some(around) => self.quote = around,
            None => self.backtick = Some(std::mem::replace(&mut self.quote, Quote::None)),
        }
    }
}

fn split(line: &str) -> Vec<Vec<String>> {
    let mut words = ParsedWords::default();
    let mut inside = Inside { quote: Quote::None, brackets: Vec::new(), backtick: None };
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match (inside.quote, c) {
            (Quote::Single, '\'') | (Quote::Double, '"') => inside.quote = Quote::None,
            (Quote::Single, _) => words.word.push(c),
            (_, '\\') => words.word.extend(characters.next().filter(|escaped| *escaped != '\n')),
            // Command substitution also works in double quotes.
            (_, '`') => {
                words.end_command();
                inside.turn_backtick();
            }
            (_, '$') if characters.peek() == Some(&'(') => {
                characters.next();
                words.end_command();
                inside.open_bracket();
            }
            (Quote::Double, _) => words.word.push(c),
            (Quote::None, '\'') => inside.quote = Quote::Single,
            (Quote::None, '"') => inside.quote = Quote::Double,
            (Quote::None, '>') if words.word.ends_with('>') => {}
            (Quote::None, '>') => {
                words.end_word();
                words.word.push('>');
            }
            (Quote::None, '|') if words.word.ends_with('>') => {}
            (Quote::None, '(') => {
                words.end_command();
                inside.open_bracket();
            }
            (Quote::None, ')') => {
                words.end_command();
                inside.close_bracket();
            }
            (Quote::None, ';' | '&' | '|' | '\n') => words.end_command(),
            (Quote::None, '{' | '}') if words.word.is_empty() => words.end_command(),
            (Quote::None, c) if c.is_whitespace() => words.end_word(),
            (Quote::None, _) => words.word.push(c),
        }
    }
    words.end_command();
    words.commands
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(line: &str, expected: &[&str]) {
        let found: Vec<String> = simple_commands(line).iter().map(|words| words.join(" ")).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn command_line_is_split_into_commands() {
        check("ls -l; cd /tmp && make | tee out", &["ls -l", "cd /tmp", "make", "tee out"]);
        check("(cd x; { reboot; })", &["cd x", "reboot"]);
        check("echo 'a; b' \"c | d\" e\\ f", &["echo a; b c | d e f"]);
        check("cat < in > out 2>> log", &["cat < in >out 2 >log"]);
        check("echo \"$(reboot)\" `halt`", &["echo", "reboot", "halt"]);
        check("sudo -n FOO=1 nice -n 10 /sbin/reboot now", &["/sbin/reboot now"]);
        check("bash -lc 'sync; reboot'", &["sync", "reboot", "bash -lc sync; reboot"]);
        check("if true; then reboot; fi", &["true", "reboot", "fi"]);
        check("r\"\"e'boot'", &["reboot"]);
        check("echo \"x `shutdown -h now` y\"; (a; (b))", &["echo x ", "shutdown -h now", " y", "a", "b"]);
        check("rm -r\\\nf /", &["rm -rf /"]);
    }

    proptest! {
        #[test]
        fn any_line_at_all_is_taken_apart(line in "\\PC{0,200}") {
            for words in simple_commands(&line) {
                prop_assert!(!words.is_empty());
            }
        }

        #[test]
        fn any_heap_of_quotes_and_shells_ends(line in "[bash'\"$(){}`;|&>\\\\ c-]{0,200}") {
            let _ = simple_commands(&line);
        }
    }
}
