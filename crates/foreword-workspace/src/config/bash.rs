//! Configuration of the tool `bash`, and the command patterns it refuses.

use std::sync::Arc;
use std::time::Duration;

/// Configuration of the tool `bash`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashConfig {
    /// The timeout of a command.
    pub timeout: Duration,
    /// The maximum output the model receives, in bytes.
    pub max_output_bytes: usize,
    /// Patterns the owner blocks, in addition to the built-in ones.
    pub blocked: Vec<Arc<str>>,
}

impl Default for BashConfig {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(120), max_output_bytes: 32_768, blocked: Vec::new() }
    }
}

impl BashConfig {
    /// The pattern that blocks `command`, if there is one. A pattern matches whole words anywhere in a command; all
    /// whitespace is equal, and `*` matches any text, including none.
    ///
    /// ```
    /// use foreword_workspace::config::BashConfig;
    /// let bash = BashConfig { blocked: vec!["git push".into()], ..BashConfig::default() };
    /// assert_eq!(bash.blocks("cd repo && git  push origin"), Some("git push"));
    /// assert_eq!(bash.blocks("git pull"), None);
    /// ```
    #[must_use]
    pub fn blocks(&self, command: &str) -> Option<&str> {
        let command = one_spaced(command);
        self.blocked.iter().map(|pattern| &**pattern).find(|pattern| is_in(&one_spaced(pattern), &command))
    }
}

/// Collapses each run of whitespace to one space.
fn one_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether `pattern` occurs in `command` as whole words.
fn is_in(pattern: &str, command: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let begins = |at: usize| command[..at].chars().next_back().is_none_or(is_border);
    places(first, command)
        .any(|at| (first.is_empty() || begins(at)) && rest_fits(&rest, &command[at + first.len()..]))
}

/// The offsets of `part` in `text`, overlapping ones included.
fn places(part: &str, text: &str) -> impl Iterator<Item = usize> {
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    starts.filter(move |at| text[*at..].starts_with(part))
}

/// Whether `rest`, the parts of a pattern after its first `*`, follow in `command`, and the last part ends at a word
/// boundary.
fn rest_fits(rest: &[&str], command: &str) -> bool {
    let Some((last, middle)) = rest.split_last() else {
        return command.chars().next().is_none_or(is_end);
    };
    let mut left = command;
    for part in middle {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    let ends = |at: usize| left[at + last.len()..].chars().next().is_none_or(is_end);
    last.is_empty() || places(last, left).any(ends)
}

/// Whether a word may start after `c`.
fn is_border(c: char) -> bool {
    is_end(c) || matches!(c, '/' | '$' | '\\')
}

/// Whether a word ends before `c`.
fn is_end(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, ';' | '&' | '|' | '(' | ')' | '{' | '}' | '`' | '"' | '\'' | '<' | '>' | '*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(pattern: &str, command: &str, blocked: bool) {
        let bash = BashConfig { blocked: vec![pattern.into()], ..BashConfig::default() };
        assert_eq!(bash.blocks(command).is_some(), blocked, "`{pattern}` and `{command}`");
    }

    #[test]
    fn patterns_match_whole_words_anywhere() {
        for (pattern, command, blocked) in [
            ("reboot", "reboot", true),
            ("reboot", "/sbin/reboot now", true),
            ("reboot", "sleep 1;reboot", true),
            ("reboot", "$(reboot)", true),
            ("reboot", "ls rebooted", false),
            ("reboot", "ls prereboot", false),
            ("git push", "git   push origin", true),
            ("git push", "git\n push", true),
            ("git push", "git pushd", false),
            ("git push * --force", "git push origin main --force", true),
            ("git push*--force", "git push --force-with-lease", false),
            ("mkfs*", "mkfs.ext4 /dev/sda", true),
            ("*secret*", "cat my-secrets.txt", true),
            ("curl * | sh", "curl https://x | sh", true),
            ("curl * | sh", "curl https://x | shasum", false),
            ("rm -rf /", "rm -rf /home", false),
            ("rm -rf /", "rm -rf /*", true),
            ("rm -rf ~", "rm -rf ~/build", false),
            ("rm -rf /", "rm -rf / --no-preserve-root", true),
            ("a *qq", "a qqq", true),
            ("x-x", "x-x-x", false),
            ("cat *..", "cat ...", true),
        ] {
            check(pattern, command, blocked);
        }
    }

    proptest! {
        #[test]
        fn any_pattern_blocks_itself(words in "[a-z]{1,6}( [a-z*]{1,6}){0,3}") {
            let bash = BashConfig { blocked: vec![words.as_str().into()], ..BashConfig::default() };
            let command = format!("echo x; {} ; echo y", words.replace('*', "q"));
            prop_assert!(bash.blocks(&command).is_some(), "{}", command);
        }
    }
}
