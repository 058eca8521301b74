//! `foreword chat` at a pseudo-terminal: editing, history, Ctrl-C and Ctrl-D, approval questions, the wait indicator.

use std::os::unix::fs::PermissionsExt;

use crate::program::Home;
use crate::terminal::{CTRL_C, ENTER, LEFT, Terminal, UP};

/// A chat that waits for its first line.
fn chat(home: &Home, args: &[&str]) -> Terminal {
    let mut terminal = Terminal::of(home, &[&["chat"], args].concat(), 100);
    terminal.until("alice> ");
    terminal
}

#[test]
fn lines_are_editable_and_history_persists() {
    let home = Home::made_for("gateway");
    let mut terminal = chat(&home, &[]);
    terminal.keys(&format!("!say helo{LEFT}l{ENTER}"));
    terminal.until("\nhello\n");
    terminal.until("alice> ");
    terminal.keys(&format!("{UP}{ENTER}"));
    terminal.until("\nhello\n");
    terminal.until("alice> ");
    assert_eq!(terminal.leave(), 0);
    let history = home.path().join(".foreword/chat_history");
    assert_eq!(history.metadata().unwrap().permissions().mode() & 0o777, 0o600, "for its owner's eyes only");
    let mut again = chat(&home, &[]);
    again.keys(&format!("{UP}{ENTER}"));
    again.until("\nhello\n");
    again.until("alice> ");
    assert_eq!(again.leave(), 0);
}

#[test]
fn ctrl_c_stops_only_the_answer() {
    let home = Home::made_for("gateway");
    let mut terminal = chat(&home, &["--conversation", "c-1"]);
    terminal.line("!slow 50ms\\");
    terminal.line("!long 2000 words");
    terminal.until("leaves at noon");
    terminal.keys(CTRL_C);
    terminal.until("stopped: the partial answer is kept");
    terminal.until("alice> ");
    terminal.line("!say still here");
    terminal.until("\nstill here\n");
    terminal.until("alice> ");
    terminal.keys(&format!("half a line{CTRL_C}"));
    terminal.until("Ctrl-D or /quit quits.");
    terminal.until("alice> ");
    terminal.line("!say and here");
    terminal.until("\nand here\n");
    assert!(!terminal.everything().contains("“half"), "a dropped line is not said");
    terminal.until("alice> ");
    assert_eq!(terminal.leave(), 0);
}

#[test]
fn ctrl_c_ends_tool_and_model_waits() {
    let home = Home::made_for("gateway");
    let mut terminal = chat(&home, &[]);
    terminal.line("!tool bash {\"command\":\"sleep 600\"}");
    terminal.until("… bash(\"sleep 600\")");
    terminal.keys(CTRL_C);
    terminal.until("→ bash(\"sleep 600\") did not finish");
    terminal.until("alice> ");
    terminal.line("!hang");
    terminal.until("…");
    terminal.keys(CTRL_C);
    terminal.until("stopped: ");
    terminal.until("alice> ");
    assert_eq!(terminal.leave(), 0);
}

#[test]
fn message_can_have_several_lines() {
    let home = Home::made_for("gateway");
    let mut terminal = chat(&home, &[]);
    terminal.line("!say first\\");
    terminal.line("!say second");
    terminal.until("\nfirst\nsecond\n");
    terminal.until("alice> ");
    terminal.keys("\u{1b}[200~!say third\n!say fourth\u{1b}[201~");
    terminal.keys(ENTER);
    terminal.until("\nthird\nfourth\n");
    terminal.until("alice> ");
    terminal.keys(&format!("{UP}{ENTER}"));
    terminal.until("\nthird\nfourth\n");
    terminal.until("alice> ");
    assert_eq!(terminal.leave(), 0);
}

/// A turn that reads untrusted text and then creates two files.
const SUSPICIOUS: [&str; 5] = [
    "!tool bash {\"command\":\"echo hi\"}\\",
    "!then\\",
    "!tool bash {\"command\":\"touch one > /dev/null\"}\\",
    "!then\\",
    "!tool bash {\"command\":\"touch two\"}",
];

/// Runs that turn and answers the approval questions. Returns which of the two files exist.
fn after_answering(answers: &[&str]) -> (bool, bool) {
    let home = Home::made_for("gateway");
    let mut terminal = chat(&home, &[]);
    SUSPICIOUS.iter().for_each(|line| terminal.line(line));
    for (answer, command) in answers.iter().zip(["touch one > /dev/null", "touch two"]) {
        terminal.until(&format!("the agent wants to run\n    bash(\"{command}\")\n"));
        let asked = terminal.until("allow it? [y]es, [a]ll in this turn, [N]o: ");
        assert!(asked.contains("this turn has read output of the tool `bash`"), "{asked}");
        if *answer == "perhaps\r" {
            terminal.keys(answer);
            terminal.until("allow it? ");
            terminal.keys("n\r");
        } else {
            terminal.keys(answer);
        }
    }
    terminal.until(" out, $0");
    terminal.until("alice> ");
    assert_eq!(terminal.leave(), 0);
    let made = |name: &str| home.path().join(name).exists();
    (made("one"), made("two"))
}

#[test]
fn owner_confirms_or_refuses_a_call() {
    assert_eq!(after_answering(&["y\r", "n\r"]), (true, false));
    assert_eq!(after_answering(&["\r", "yes\r"]), (false, true));
    assert_eq!(after_answering(&["a\r"]), (true, true));
    assert_eq!(after_answering(&["perhaps\r", "no\r"]), (false, false));
    assert_eq!(after_answering(&[CTRL_C]), (false, false));
}

#[test]
fn wait_indicator_is_shown_and_erased() {
    let home = Home::made_for("gateway");
    let mut terminal = chat(&home, &[]);
    terminal.line("!wait 1500ms\\");
    terminal.line("!say there it is");
    terminal.until("…");
    terminal.until("… 1s");
    let shown = terminal.until("\nthere it is\n".trim_start());
    assert!(terminal.everything().contains("\r\u{1b}[2Kthere it is"), "{shown}");
    let bill = terminal.until("alice> ");
    assert!(bill.contains(" tokens in, ") && bill.contains(" out, $0\n"), "{bill}");
    assert_eq!(terminal.leave(), 0);
}

#[test]
fn colour_is_used_only_on_terminals() {
    let home = Home::made_for("gateway");
    let coloured = |text: &str| {
        let mut rest = text;
        while let Some((_, behind)) = rest.split_once("\u{1b}[") {
            if behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m') {
                return true;
            }
            rest = behind;
        }
        false
    };
    let speak = |mut terminal: Terminal| {
        terminal.until("alice> ");
        terminal.line("what's Carol's birthday?");
        terminal.until("14 March");
        terminal.until("alice> ");
        terminal.line("/help");
        terminal.until("/quit");
        terminal.until("alice> ");
        let text = terminal.everything();
        assert_eq!(terminal.leave(), 0);
        text
    };
    assert!(coloured(&speak(chat(&home, &[]).reread())));
    let plain = speak(Terminal::without_colour(&home, &["chat"]));
    assert!(!coloured(&plain), "{plain:?}");
}

#[test]
fn answers_wrap_and_calls_fit_one_line() {
    let home = Home::made_for("gateway");
    let mut terminal = Terminal::of(&home, &["chat"], 40);
    terminal.until("alice> ");
    terminal.line(
        "!say the ferry leaves at noon and comes back with bread, letters, salt, rope and two passengers",
    );
    terminal.until(
        "\nthe ferry leaves at noon and comes back\nwith bread, letters, salt, rope and two\npassengers\n",
    );
    terminal.until("alice> ");
    terminal.line("!tool memory_search {\"query\":\"Carol and everything else that anybody ever wrote\"}");
    let shown = terminal.until("\n1 call came back");
    let line = shown.lines().find(|line| line.contains("→ memory_search(")).unwrap();
    assert!(line.trim_start_matches('\r').chars().count() <= 40, "{line}");
    terminal.until("alice> ");
    assert_eq!(terminal.leave(), 0);
}

#[test]
fn continued_conversation_shows_its_last_exchange() {
    let home = Home::made_for("gateway");
    home.succeed(&["chat", "--conversation", "c-1", "what's Carol's birthday?"]);
    let mut terminal = Terminal::of(&home, &["chat", "--continue"], 100);
    let greeting = terminal.until("alice> ");
    assert!(greeting.contains("Continuing c-1."), "{greeting}");
    assert!(
        greeting.contains("\n  alice: what's Carol's birthday?\n  Assistant: Memory says: "),
        "{greeting}"
    );
    assert_eq!(terminal.leave(), 0);
    let mut bob =
        Terminal::of(&home, &["chat", "--conversation", "c-1", "--user", "bob", "--situation", "group"], 100);
    let greeting = bob.until("bob in group> ");
    assert!(!greeting.contains("birthday"), "{greeting}");
    assert_eq!(bob.leave(), 0);
}

#[test]
fn failed_message_stays_in_the_history() {
    let home = Home::made_for("gateway");
    let mut terminal = chat(&home, &[]);
    terminal.line("!say hello");
    terminal.until("\nhello\n");
    terminal.until("alice> ");
    let database = || rusqlite::Connection::open(home.path().join(".foreword/foreword.db")).unwrap();
    database().execute_batch("ALTER TABLE messages RENAME TO away").unwrap();
    terminal.line("!say nobody hears this");
    let output = terminal.until("Nothing was sent. Press arrow-up to get your line back.");
    assert!(output.contains("error: ") && output.contains("help: "), "{output}");
    terminal.until("alice> ");
    database().execute_batch("ALTER TABLE away RENAME TO messages").unwrap();
    terminal.keys(&format!("{UP}{ENTER}"));
    terminal.until("\nnobody hears this\n");
    terminal.until("alice> ");
    terminal.line("!fail 401");
    let output = terminal.until("Press arrow-up to get your message back.");
    assert!(output.contains("check the provider's key"), "{output}");
    terminal.until("alice> ");
    assert_eq!(terminal.leave(), 0);
}

#[test]
fn edited_configuration_is_reported_and_applied() {
    let home = Home::made_for("gateway");
    let mut terminal = chat(&home, &[]);
    let config = std::fs::read_to_string(home.path().join("foreword.yaml")).unwrap();
    home.write("foreword.yaml", format!("{config}\ntools: {{ disabled: [bash] }}\n"));
    let mut screen_text = String::new();
    while !screen_text.contains("foreword.yaml reloaded: `tools` changed") {
        terminal.keys(ENTER);
        screen_text.push_str(&terminal.until("alice> "));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    home.write("foreword.yaml", "agent: { nam: Ada }\n");
    while !screen_text.contains("foreword.yaml is invalid, the previous configuration stays active: ") {
        terminal.keys(ENTER);
        screen_text.push_str(&terminal.until("alice> "));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    terminal.line("!tool bash {\"command\":\"echo hi\"}");
    terminal.until("→ bash failed: ");
    terminal.until("alice> ");
    assert_eq!(terminal.leave(), 0);
}
