//! Replays the corpora, and the workspaces that `foreword init` writes, through the laws. Fuzzing starts from the same files.

use std::path::Path;
use std::{fs, io};

#[test]
fn every_bracket_input_keeps_the_laws() -> io::Result<()> {
    replay("crates/foreword-prompt/fuzz_corpus/bracket", foreword_fuzz::bracket::laws_hold)
}

#[test]
fn every_jinja_input_keeps_the_laws() -> io::Result<()> {
    replay("crates/foreword-prompt/fuzz_corpus/jinja", foreword_fuzz::jinja::laws_hold)
}

#[test]
fn every_yaml_input_keeps_the_laws() -> io::Result<()> {
    replay("crates/foreword-workspace/fuzz_corpus/yaml", foreword_fuzz::yaml::laws_hold)
}

#[test]
fn every_file_of_a_new_workspace_keeps_the_laws_of_yaml() -> io::Result<()> {
    replay("crates/foreword/templates", foreword_fuzz::yaml::laws_hold)
}

fn replay(corpus: &str, laws_hold: fn(&[u8])) -> io::Result<()> {
    let mut inputs = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(corpus), &mut inputs)?;
    assert!(inputs.len() > 10, "{corpus} is a corpus");
    for (path, input) in inputs {
        let kept = std::panic::catch_unwind(|| laws_hold(&input));
        assert!(kept.is_ok(), "{path} breaks a law");
    }
    Ok(())
}

fn collect(folder: &Path, inputs: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, inputs)?;
        } else {
            inputs.push((path.display().to_string(), fs::read(&path)?));
        }
    }
    Ok(())
}
