//! Runs the properties on the corpora and on the workspaces that `foreword init` writes. Fuzzing starts from the same
//! files.

use std::path::Path;
use std::{fs, io};

#[test]
fn every_bracket_input_keeps_the_laws() -> io::Result<()> {
    replay("crates/foreword-prompt/fuzz_corpus/bracket", foreword_fuzz::bracket::check_properties)
}

#[test]
fn every_jinja_input_keeps_the_laws() -> io::Result<()> {
    replay("crates/foreword-prompt/fuzz_corpus/jinja", foreword_fuzz::jinja::check_properties)
}

#[test]
fn every_yaml_input_keeps_the_laws() -> io::Result<()> {
    replay("crates/foreword-workspace/fuzz_corpus/yaml", foreword_fuzz::yaml::check_properties)
}

#[test]
fn new_workspace_files_satisfy_the_yaml_properties() -> io::Result<()> {
    replay("crates/foreword/templates", foreword_fuzz::yaml::check_properties)
}

fn replay(corpus: &str, check_properties: fn(&[u8])) -> io::Result<()> {
    let mut inputs = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(corpus), &mut inputs)?;
    assert!(inputs.len() > 10, "{corpus} is a corpus");
    for (path, input) in inputs {
        let kept = std::panic::catch_unwind(|| check_properties(&input));
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
