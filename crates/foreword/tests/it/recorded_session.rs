//! The session in `docs/chat.md` is a recording and still reproducible.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::program::Home;
use crate::screen::screen_lines;
use crate::terminal::Terminal;

/// Set by `scripts/record-chat.sh`: writes the session of this run to `docs/chat.md`.
const RECORD: &str = "FOREWORD_RECORD_CHAT";
/// The markers around the session.
const BEGIN: &str = "<!-- recorded by scripts/record-chat.sh -->\n```console\n";
const END: &str = "\n```\n";
const COLUMNS: u16 = 96;

/// A message that fails.
const FAILING: &str = "!fail 401";

/// Prompts and the input typed at each.
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

fn page() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/chat.md"))
}

fn session() -> String {
    let home = Home::made_for("gateway");
    let mut terminal = Terminal::of(&home, &["chat"], COLUMNS);
    for (prompt, line) in TYPED {
        terminal.until(prompt);
        terminal.line(line);
        terminal.until(line);
        if line == FAILING {
            // The events of a turn are written after it ends, and this types faster than a person.
            while home.succeed(&["status"]).matches("HTTP 401").count() < 2 {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
    terminal.until("alice> ");
    let everything = terminal.everything();
    assert_eq!(terminal.leave(), 0);
    let lines = screen_lines(&everything, usize::from(COLUMNS));
    format!("$ foreword chat\n{}", lines.join("\n").trim_end())
}

/// The words of a session, without numbers, generated ids, the date, and the ends of lines that contain them.
fn stable_words(session: &str) -> String {
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
fn recorded_chat_session_matches_the_program() {
    let (page, session) = (page(), session());
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("docs/chat.md has a place for the session");
    let (recorded, behind) = rest.split_once(END).unwrap();
    if std::env::var_os(RECORD).is_some() {
        fs::write(page, format!("{before}{BEGIN}{session}{END}{behind}")).unwrap();
        return;
    }
    let advice = "run `scripts/record-chat.sh` if it is better now";
    assert_eq!(stable_words(recorded), stable_words(&session), "{advice}:\n{session}");
}
