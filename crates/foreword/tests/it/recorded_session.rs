//! The session in the README is one that really took place, and would take place again.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::program::Home;
use crate::screen::shown;
use crate::terminal::Terminal;

/// Set by `scripts/record-chat.sh`: the README gets the session of this run.
const RECORD: &str = "FOREWORD_RECORD_CHAT";
/// What stands before and behind the session.
const BEGIN: &str = "<!-- recorded by scripts/record-chat.sh -->\n```console\n";
const END: &str = "\n```\n";
const COLUMNS: u16 = 96;

/// A message that fails.
const FAILING: &str = "!fail 401";

/// Behind which prompt what is typed.
const TYPED: [(&str, &str); 9] = [
    ("alice> ", "what's Carol's birthday?"),
    ("alice> ", "!fail 429 times=3 retry-after=1\\"),
    ("\n", "when did I water the garden?"),
    ("alice> ", "/as bob --situation group"),
    ("bob in group> ", "what's Carol's birthday?"),
    ("bob in group> ", "/as"),
    ("alice> ", FAILING),
    ("alice> ", "why did my message fail?"),
    ("alice> ", "/cost"),
];

fn readme() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"))
}

fn session() -> String {
    let home = Home::made_for("gateway");
    let mut terminal = Terminal::of(&home, &["chat"], COLUMNS);
    for (prompt, line) in TYPED {
        terminal.until(prompt);
        terminal.line(line);
        terminal.until(line);
        if line == FAILING {
            // The log (the call, and the turn's end) is written behind the turn; nobody types as fast as this does.
            while home.succeed(&["status"]).matches("HTTP 401").count() < 2 {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
    terminal.until("alice> ");
    let everything = terminal.everything();
    assert_eq!(terminal.leave(), 0);
    let lines = shown(&everything, usize::from(COLUMNS));
    format!("$ foreword chat\n{}", lines.join("\n").trim_end())
}

/// The words of a session, without what is different each time: numbers, names with numbers, the day, and where a line
/// that has some of these is cut.
fn words(session: &str) -> String {
    let same = |word: &str| {
        let day = word.ends_with("day,") && word.starts_with(char::is_uppercase);
        let cut = word.contains('…');
        let zone = word.starts_with('(') && word.ends_with(").");
        if day || zone || cut || word.contains(|c: char| c.is_ascii_digit()) {
            "#".to_owned()
        } else {
            word.to_owned()
        }
    };
    session.split_whitespace().map(same).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_session_in_the_readme_is_what_the_program_shows() {
    let (readme, session) = (readme(), session());
    let text = fs::read_to_string(&readme).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the README has a place for the session");
    let (recorded, behind) = rest.split_once(END).unwrap();
    if std::env::var_os(RECORD).is_some() {
        fs::write(readme, format!("{before}{BEGIN}{session}{END}{behind}")).unwrap();
        return;
    }
    let advice = "run `scripts/record-chat.sh` if it is better now";
    assert_eq!(words(recorded), words(&session), "{advice}:\n{session}");
}
