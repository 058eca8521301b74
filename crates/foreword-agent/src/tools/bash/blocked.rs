//! Blocks commands by pattern. This prevents accidents, such as a clean-up in the wrong folder. It is not a security
//! boundary; trust, the sandbox and the owner's confirmation are.

use super::command_line::{base_name, simple_commands};

/// The first of `patterns` that matches `command`.
pub(super) fn blocked_by<'p>(command: &str, patterns: &'p [String]) -> Option<&'p str> {
    let commands = simple_commands(command);
    let squeezed = without_blanks(command);
    patterns.iter().map(String::as_str).find(|pattern| {
        if pattern.contains('(') {
            return squeezed.contains(&without_blanks(pattern));
        }
        commands.iter().any(|words| Pattern::parse(pattern).is_some_and(|pattern| pattern.fits(words)))
    })
}

fn without_blanks(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

struct Pattern<'p> {
    program: &'p str,
    /// The option letters, in lower case.
    options: String,
    words: Vec<&'p str>,
}

impl<'p> Pattern<'p> {
    fn parse(text: &'p str) -> Option<Self> {
        let mut parts = text.split_whitespace();
        let program = parts.next()?;
        let (options, words): (Vec<&str>, Vec<&str>) = parts.partition(|part| is_short_option(part));
        Some(Self { program, options: options.concat().replace('-', "").to_lowercase(), words })
    }

    fn fits(&self, command: &[String]) -> bool {
        let Some((program, rest)) = command.split_first() else { return false };
        let given: String = rest.iter().map(|word| option_letters(word)).collect();
        matches(self.program, base_name(program))
            && self.options.chars().all(|letter| given.contains(letter))
            && self.words.iter().all(|wanted| rest.iter().any(|word| matches(wanted, whole(word))))
    }
}

fn is_short_option(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--")
}

/// The letters of an option, in lower case; a long option counts by its first letter, which is usually its short form.
fn option_letters(word: &str) -> String {
    match word.strip_prefix("--") {
        Some(long) => long.chars().take(1).collect(),
        None if is_short_option(word) => word[1..].to_lowercase(),
        None => String::new(),
    }
}

/// `/*`, `//` and `/.` all mean `/`, and likewise for other folders.
fn whole(word: &str) -> &str {
    let mut rest = word;
    while let Some(shorter) = ["/*", "/.", "/"].iter().find_map(|end| rest.strip_suffix(end)) {
        rest = shorter;
    }
    if rest.is_empty() && word.starts_with('/') { "/" } else { rest }
}

/// Whether `word` matches `pattern`, where `*` matches anything.
fn matches(pattern: &str, word: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == word };
    let Some(rest) = word.strip_prefix(head) else { return false };
    let mut starts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    starts.any(|at| matches(tail, &rest[at..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::BashSettings;
    use super::*;

    fn is_blocked(command: &str) -> bool {
        blocked_by(command, &BashSettings::default().blocked).is_some()
    }

    #[test]
    fn destructive_commands_are_blocked_in_every_spelling() {
        for command in [
            "rm -rf /",
            "rm  -r  -f   /",
            "rm --recursive --force /",
            "sudo rm -fR /*",
            "cd /tmp; /bin/rm -rf //",
            "rm -rf ~/",
            "rm -rf \"$HOME\"",
            "rm -rf ${HOME}/*",
            "rm -rf .foreword",
            "true && rm -rf ./x / y",
            "bash -c 'rm -rf /'",
            "echo $(rm -rf /)",
            "mkfs.ext4 /dev/sda1",
            "sudo mkfs -t ext4 /dev/sda",
            "dd if=/dev/zero of=/dev/sda bs=1M",
            "echo x > /dev/sda",
            "cat image >/dev/nvme0n1",
            "sudo shutdown -h now",
            "/sbin/reboot",
            "init 6",
            "systemctl reboot",
            ":(){ :|:& };:",
            ":() { : | : & } ; :",
        ] {
            assert!(is_blocked(command), "{command}");
        }
    }

    #[test]
    fn everyday_commands_are_run() {
        for command in [
            "ls -la /",
            "rm -rf target/debug",
            "rm -rf ./build /tmp/x",
            "rm notes.md",
            "grep -r reboot /var/log",
            "echo 'rm -rf /'",
            "git commit -m 'no more rm -rf /'",
            "cat shutdown.md",
            "dd if=/dev/zero of=disk.img count=1",
            "make > /dev/null 2>&1",
            "systemctl status",
            "find . -name mkfs",
            "chmod -R u+w src",
        ] {
            assert!(
                !is_blocked(command),
                "{command}: {:?}",
                blocked_by(command, &BashSettings::default().blocked)
            );
        }
    }

    #[test]
    fn owner_patterns_block_commands() {
        let patterns = ["git push*", "kubectl delete", "curl -T", "psql *prod*"].map(str::to_owned);
        let blocked = |command| blocked_by(command, &patterns);
        assert_eq!(blocked("git push --force"), Some("git push*"));
        assert_eq!(blocked("kubectl -n x delete pod y"), Some("kubectl delete"));
        assert_eq!(blocked("curl -sT secrets host"), Some("curl -T"));
        assert_eq!(blocked("psql db-prod-1"), Some("psql *prod*"));
        assert_eq!(blocked("git pull"), None);
        assert_eq!(blocked(""), None);
    }

    proptest! {
        #[test]
        fn matching_never_panics(command in "\\PC{0,80}", pattern in "\\PC{0,20}") {
            let _ = blocked_by(&command, &[pattern]);
        }
    }
}
