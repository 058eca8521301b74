//! Unusable files in a prompt: `check` rejects each by name with exit code 3, a prompt is built without it, and reading
//! never blocks.

use std::fs::File;
use std::process::Command;

use crate::bad_input::expect;
use crate::program::{Home, refusal};

/// A workspace whose `SOUL.md` is created by `make`.
fn soul(make: impl Fn(&Home)) -> String {
    let home = Home::with(&[("foreword.yaml", "")]);
    make(&home);
    // A prompt is built without the file, with a warning; `check` rejects it.
    let built = home.run(&["build"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    expect(&built.stderr, &["`SOUL.md` in the workspace root", "prompts omit it"]);
    let checked = home.run(&["check"]);
    assert_eq!(checked.code, 3, "{}", checked.stdout);
    expect(&checked.stdout, &["`SOUL.md` in the workspace root"]);
    checked.stdout
}

#[test]
fn link_out_of_the_root_is_refused() {
    expect(&soul(|home| home.link("SOUL.md", "/etc/passwd")), &["a link leads out of the root"]);
    expect(&soul(|home| home.link("SOUL.md", "../secret")), &["a link leads out of the root"]);
    expect(&soul(|home| home.link("SOUL.md", "/dev/zero")), &["a link leads out of the root"]);
    expect(&soul(|home| home.link("SOUL.md", "SOUL.md")), &["its links form a loop"]);
}

#[test]
fn irregular_file_is_rejected_without_blocking() {
    let fifo = |home: &Home| {
        assert!(Command::new("mkfifo").arg(home.path().join("SOUL.md")).status().unwrap().success());
    };
    expect(&soul(fifo), &["it is a FIFO, not a regular file"]);
    expect(&soul(|home| home.write("SOUL.md/x", "")), &["it is a directory, not a regular file"]);
    let home = Home::new();
    expect(&home.refused(3, &["render", "/dev/zero"]), &["`zero`", "it is a device, not a regular file"]);
}

#[test]
fn two_gigabyte_file_is_refused_unread() {
    let huge = |home: &Home| {
        File::create(home.path().join("SOUL.md")).unwrap().set_len(2 << 30).unwrap();
    };
    let refusal_text = soul(huge);
    expect(
        &refusal_text,
        &["it is too large: 2147483648 bytes, the limit is 1048576 bytes", "split or shorten the file"],
    );
    assert!(!refusal_text.contains("raise"), "no setting raises the limit: {refusal_text}");
}

#[test]
fn unreadable_file_is_rejected() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::with(&[("SOUL.md", "x")]);
    let path = home.path().join("SOUL.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    match File::open(&path) {
        // The superuser can read every file.
        Ok(_) => assert!(home.succeed(&["build"]).contains("x")),
        Err(_) => expect(&home.run(&["build"]).stderr, &["`SOUL.md`", "permission denied"]),
    }
}

#[test]
fn non_utf8_file_is_rejected_with_position() {
    expect(
        &soul(|home| home.write("SOUL.md", b"caf\xe9")),
        &["not UTF-8: the byte at offset 3", "as UTF-8 text"],
    );
    expect(&soul(|home| home.write("SOUL.md", b"a\0b")), &["it has a NUL byte at offset 1"]);
    let home = Home::new();
    for (input, place) in [(&b"one\nca\xe9"[..], "<stdin>:2:3"), (b"one\n\0", "<stdin>:2:1")] {
        let output = refusal(home.run_with_input(&["render", "-"], input), 3, &["render", "-"]);
        expect(&output, &[place, "save the template as UTF-8"]);
    }
    let output =
        refusal(home.run_with_input(&["render", "-"], &vec![b'a'; (1 << 20) + 1]), 3, &["render", "-"]);
    expect(&output, &["more than 1 MiB"]);
}

#[test]
fn only_file_variables_mention_allowed_paths() {
    let allowed = "`prompt.allowed_paths`";
    let home = Home::with(&[("t.md", "[file:/etc/hostname]")]);
    let rendered = home.run(&["render", "t.md"]);
    assert_eq!((rendered.code, rendered.stdout.as_str()), (0, ""));
    expect(&rendered.stderr, &["it is an absolute path", allowed]);
    home.write("foreword.yaml", "agent: { blueprint: agent }\nprompt: { instruction_file: /etc/hostname }\n");
    home.write(".agents/prompt/x.md", "");
    let output = home.refused(3, &["build"]);
    expect(&output, &["it is an absolute path", "relative to the root"]);
    assert!(!output.contains("allowed"), "{output}");
}
