//! Runs every `console` block of the README and of `docs/` and compares the output with the page.
//!
//! All blocks of a page run in one shell, one after the other, in an empty folder. HTML comments before a block control it:
//!
//! - `<!-- not run: REASON -->`: the block needs something that a test does not have. [`NOT_RUN`] counts them.
//! - `<!-- setup: COMMANDS -->`: commands to run before, not shown on the page.
//! - `<!-- until: WORDS -->`: the last command runs until it prints these words.
//! - `<!-- recorded by … -->`: another test records and compares it.
//!
//! A command without output on the page only has to succeed. `…` on its own line matches any lines, elsewhere any text.
//! `scripts/record-docs.sh` updates the pages with the program's output.

mod block;
mod comparison;
mod shell;

use std::fs;
use std::path::{Path, PathBuf};

use self::block::{Block, Purpose};
use self::comparison::{matches, updated};

/// Set by `scripts/record-docs.sh`.
const RECORD: &str = "FOREWORD_RECORD_DOCS";
/// The number of blocks that are not run. Lower it when one is; avoid raising it.
const NOT_RUN: usize = 15;

fn pages() -> Vec<PathBuf> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    pages.sort();
    pages.insert(0, root.join("README.md"));
    pages
}

/// The differences on a page; in recording mode, updates the page instead.
fn differences(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let blocks = Block::all_of(&text);
    if !blocks.iter().any(|block| block.purpose == Purpose::Run) {
        return Vec::new();
    }
    let name = page.file_name().unwrap().to_string_lossy().into_owned();
    let ran = shell::run(&name, &blocks);
    let mut wrong = Vec::new();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // From the last to the first, so that line numbers stay valid.
    let commands =
        blocks.iter().filter(|block| block.purpose == Purpose::Run).flat_map(|block| &block.commands);
    let mut pairs: Vec<_> = commands.zip(ran).collect();
    pairs.reverse();
    for (command, ran) in pairs {
        let silent = command.expected.is_empty();
        if if silent { ran.code == 0 } else { matches(&command.expected, &ran.output) } {
            continue;
        }
        if std::env::var_os(RECORD).is_some() && !silent {
            let indent = " ".repeat(command.indent);
            let fresh = updated(&command.expected, &ran.output);
            let fresh = fresh.iter().map(|line| format!("{indent}{line}").trim_end().to_owned());
            lines.splice(command.output_lines.clone(), fresh);
            continue;
        }
        wrong.push(format!(
            "{name}:{}: `{}` ended with {} and printed\n{}\nand not\n{}\n",
            command.line,
            command.text,
            ran.code,
            ran.output.join("\n"),
            command.expected.join("\n")
        ));
    }
    if std::env::var_os(RECORD).is_some() {
        fs::write(page, lines.join("\n") + "\n").unwrap();
    }
    wrong.reverse();
    wrong
}

#[test]
fn console_blocks_match_the_program_output() {
    let only = std::env::var("FOREWORD_DOCS_PAGE").ok();
    let pages: Vec<PathBuf> =
        pages().into_iter().filter(|page| only.as_ref().is_none_or(|only| page.ends_with(only))).collect();
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = pages.iter().map(|page| scope.spawn(|| differences(page))).collect();
        all.into_iter().flat_map(|page| page.join().unwrap()).collect()
    });
    let advice = "correct the page, or run `scripts/record-docs.sh` if the program is right";
    assert!(wrong.is_empty(), "{} commands differ; {advice}:\n\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn skipped_blocks_are_few_and_have_reasons() {
    let mut count = 0;
    for page in pages() {
        for block in Block::all_of(&fs::read_to_string(&page).unwrap()) {
            if let Purpose::NotRun(reason) = &block.purpose {
                assert!(
                    reason.split_whitespace().count() >= 3,
                    "{}:{}: {reason}",
                    page.display(),
                    block.line
                );
                count += 1;
            }
        }
    }
    assert_eq!(count, NOT_RUN, "blocks that are not run");
}
