//! `foreword chat` with a message on the command line or on standard input: the answer goes to standard output,
//! everything else to standard error.

use std::process::Stdio;

use serde_json::Value;

use crate::program::{Home, Ran};

const BIRTHDAY: &str = "what's Carol's birthday?";

/// The lines of a run with `--json`.
fn lines(ran: &Ran) -> Vec<Value> {
    let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    ran.stdout.lines().map(line).collect()
}

/// The text of the answer.
fn answer_text(lines: &[Value]) -> String {
    lines
        .iter()
        .filter(|line| line["type"] == "text_delta")
        .map(|line| line["text"].as_str().unwrap())
        .collect()
}

/// The only line of this type.
fn only<'a>(lines: &'a [Value], kind: &str) -> &'a Value {
    let found: Vec<&Value> = lines.iter().filter(|line| line["type"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind}: {found:?}");
    found[0]
}

#[test]
fn alice_sees_the_memory_search_and_answer() {
    let home = Home::made_for("gateway");
    let ran = home.run(&["chat", BIRTHDAY]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("birthday 14 March"), "{}", ran.stdout);
    assert!(ran.stdout.contains("I take you for alice (trust full)"), "{}", ran.stdout);
    assert!(ran.stderr.starts_with("→ memory_search(\"carol birthday\"): 2 results"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "one line for a call: {}", ran.stderr);
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "no colour in a pipe");
}

#[test]
fn bob_in_the_group_gets_no_private_memory() {
    let home = Home::made_for("gateway");
    home.succeed(&["chat", BIRTHDAY]);
    for occasion in
        [&["--user", "bob", "--situation", "group"][..], &["--channel", "signal:bob", "--situation", "group"]]
    {
        let ran = home.run(&[&["chat"], occasion, &[BIRTHDAY]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.contains("I take you for bob (trust familiar)"), "{}", ran.stdout);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!all.contains("14 March") && !all.contains("private"), "{all}");
    }
}

#[test]
fn json_output_is_one_object_per_line() {
    let home = Home::made_for("gateway");
    let ran = home.run(&["--json", "chat", "--conversation", "c-1", BIRTHDAY]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let lines = lines(&ran);
    assert!(lines.iter().all(|line| line["sessionId"] == "c-1"));
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, next| next - one == 1), "{numbers:?}");
    let mut kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    kinds.dedup();
    assert_eq!(kinds, ["turn_start", "text_delta", "tool_call", "tool_result", "text_delta", "turn_end"]);
    let start = only(&lines, "turn_start");
    assert_eq!((&start["user"], &start["trust"]), (&"alice".into(), &"full".into()));
    let (call, result) = (only(&lines, "tool_call"), only(&lines, "tool_result"));
    assert_eq!(call["arguments"]["query"], "carol birthday");
    assert_eq!((&call["call"], &result["isError"]), (&result["call"], &false.into()));
    assert!(answer_text(&lines).contains("birthday 14 March"));
    let end = only(&lines, "turn_end");
    assert_eq!(
        (&end["outcome"], &end["error"], &end["turn"]),
        (&"done".into(), &Value::Null, &start["turn"])
    );
    assert!(end["usage"]["output"].as_u64().unwrap() > 0 && end["cost"] == 0.0, "{end}");
}

#[test]
fn piped_input_is_one_message_per_line() {
    let home = Home::made_for("gateway");
    let input = "!say one\n\n!say two\\\n!say three\n//etc is a folder\n";
    let ran = home.run_with_input(&["chat", "--conversation", "c-1"], input.as_bytes());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.starts_with("one\ntwo\nthree\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("“/etc is a folder”"), "two slashes say one: {}", ran.stdout);
    let whole = home.run_with_input(&["chat", "-"], b"!say all of it\n!say at once\n");
    assert_eq!((whole.code, whole.stdout.as_str()), (0, "all of it\nat once\n"));
}

#[test]
fn conversation_continues_where_it_ended() {
    let home = Home::made_for("gateway");
    let session = |args: &[&str]| {
        let ran = home.run(&[&["--json", "chat"], args, &["!say hello"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        only(&lines(&ran), "turn_end")["sessionId"].as_str().unwrap().to_owned()
    };
    assert_eq!(session(&["--conversation", "c-1"]), "c-1");
    assert_eq!(session(&["--continue"]), "c-1");
    let new = session(&[]);
    assert!(new.starts_with("chat-"), "{new}");
    assert_eq!(session(&["-c"]), new, "the last one");
    assert_ne!(session(&[]), new);
    assert_eq!(session(&["--conversation", "c-1"]), "c-1");
    assert_eq!(session(&["-c"]), "c-1", "the one somebody last spoke in");
    let none = home.refused(1, &["chat", "--continue", "--user", "carol", "hello"]);
    assert!(none.contains("`carol` has no conversation yet"), "{none}");
}

#[test]
fn slash_commands_work_without_a_terminal() {
    let home = Home::made_for("gateway");
    let prompt = home.succeed(&["chat", "/prompt"]);
    assert!(prompt.contains("You are the assistant of a small"), "{prompt}");
    let explained = home.succeed(&["chat", "/explain", "--user", "bob", "--situation", "group"]);
    assert!(explained.contains("group allows familiar") && explained.contains("Withheld"), "{explained}");
    let input = "/compact\n!say one\n!say two\n/cost\n/compact\n/new\n/cost\n/help\n/quit\n!say never\n";
    let ran = home.run_with_input(&["chat", "--conversation", "c-1"], input.as_bytes());
    assert_eq!(ran.code, 1, "the first compaction had nothing to do: {}", ran.stderr);
    assert_eq!(ran.stdout, "one\ntwo\n");
    for expected in [
        "error: conversation `c-1` has nothing to summarise yet\n  help: send a message first",
        "\n2 turns in this chat: ",
        "messages replaced with a summary, ",
        "\nconversation chat-",
        "/explain  why each layer is included",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}\n{}", ran.stderr);
    }
    assert!(home.succeed(&["chat", "--conversation", "c-1", "!say still usable"]).contains("still usable"));
}

#[test]
fn slash_commands_print_json_lines() {
    let home = Home::made_for("gateway");
    let input = b"!say one\n!say two\n/cost\n/compact\n/prompt\n/as bob --situation group\n";
    let ran = home.run_with_input(&["--json", "chat"], input);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let lines = lines(&ran);
    assert_eq!(only(&lines, "cost")["turns"], 2);
    assert!(only(&lines, "session_compacted")["removed"].as_u64().unwrap() > 0);
    assert!(only(&lines, "prompt")["text"].as_str().unwrap().contains("You are the assistant"));
}

#[test]
fn invalid_chat_input_is_a_usage_error() {
    let home = Home::made_for("gateway");
    let check = |args: &[&str], message: &str, help: &str| {
        let output = home.refused(2, &[&["chat"], args].concat());
        assert!(output.contains(message) && output.contains(help), "{args:?}: {output}");
    };
    check(&[""], "the message is empty", "write a message");
    check(&[" \n "], "the message is empty", "write a message");
    check(&["/explian"], "unknown command `/explian`", "did you mean `/explain`?");
    check(&["/etc/passwd is a file"], "unknown command `/etc/passwd`", "start with `//`");
    check(&["/cost now"], "`/cost` takes no arguments", "write only `/cost`");
    check(&["/as bob --sitation group"], "--sitation", "`/as bob --situation group`");
    check(&["--conversation", "two words", "hi"], "is not a valid conversation id", "omit --conversation");
    let nothing = home.run(&["chat"]);
    assert_eq!(nothing.code, 2, "{}", nothing.stderr);
    assert_eq!(home.run(&["chat", "--continue", "--conversation", "c-1", "hi"]).code, 2);
    let mistyped = home.run_with_input(&["chat"], b"/explian\n!say the rest is still said\n");
    assert_eq!((mistyped.code, mistyped.stdout.as_str()), (2, "the rest is still said\n"));
}

#[test]
fn unknown_user_and_situation_warn() {
    let home = Home::made_for("gateway");
    let ran = home.run(&["chat", "--user", "bobb", "--situation", "grup", "!say hello"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("I don't know who is asking (trust public)"), "{}", ran.stdout);
    assert!(ran.stderr.contains("unknown user `bobb`, so trust is `public`: did you mean `bob`?"));
    assert!(ran.stderr.contains("unknown situation `grup`, so trust is `public`: did you mean `group`?"));
}

#[test]
fn invalid_configuration_fails_before_sending() {
    let home = Home::made_for("gateway");
    home.write("foreword.yaml", "agent: { nam: Ada }\n");
    let output = home.refused(3, &["chat", "hello"]);
    assert!(output.contains("did you mean `name`?"), "{output}");
    let nowhere = home.refused(1, &["-w", "nowhere", "chat", "hello"]);
    assert!(nowhere.contains("foreword init"), "{nowhere}");
}

#[test]
fn overlong_message_is_refused_and_the_next_sent() {
    let home = Home::made_for("gateway");
    let input = format!("{}\n!say still here\n", "x".repeat(2 << 20));
    let ran = home.run_with_input(&["chat"], input.as_bytes());
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "still here\n"));
    assert!(ran.stderr.contains("a message has 2097152 bytes, 1048576 are allowed"), "{}", ran.stderr);
    assert!(ran.stderr.contains("help: ") && ran.stderr.len() < 1_000, "{}", ran.stderr);
}

#[test]
fn nul_bytes_and_control_sequences_are_harmless() {
    let home = Home::made_for("gateway");
    let ran = home.run_with_input(&["chat"], b"x\0y\n!say a\x1b[2Jb\x07\n");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stdout.contains(['\0', '\u{1b}', '\u{7}']), "{:?}", ran.stdout);
    assert!(ran.stdout.contains("a[2Jb"), "{:?}", ran.stdout);
    let not_text = home.run_with_input(&["chat"], b"\xff\xfe\n");
    assert_eq!(not_text.code, 1);
    assert!(not_text.stderr.contains("help: pipe UTF-8 text into it"), "{}", not_text.stderr);
}

#[test]
fn closed_pipe_ends_the_turn_without_failure() {
    let home = Home::made_for("gateway");
    for json in [&[][..], &["--json"]] {
        let args = [json, &["chat", "--conversation", "c-1", "!slow 10ms\n!long 20000 words"]].concat();
        let mut child = home.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
    assert_eq!(home.succeed(&["chat", "--conversation", "c-1", "!say still usable"]), "still usable\n");
}
