//! Runs the fuzz corpus: nothing in it may panic.

use std::path::Path;
use std::sync::Arc;

use super::context;
use crate::jinja::{Limits, compile};

#[test]
#[expect(clippy::disallowed_methods, reason = "the corpus is read from the repository")]
fn corpus_inputs_render_or_fail_with_a_position() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_corpus/jinja");
    let mut inputs: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    assert!(inputs.len() >= 30, "{} inputs", inputs.len());
    for path in inputs {
        let source: Arc<str> = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into();
        // A file that includes itself under another name, so that includes have something to find.
        let loader = |name: &str| Ok((name == "part.md").then(|| source.clone()));
        let rendered = compile("input", source.clone(), &loader, &Limits::default())
            .and_then(|template| template.render(&context()));
        if let Err(error) = rendered {
            assert!(error.at.line <= source.lines().count().max(1) + 1, "{}: {error}", path.display());
            assert!(!error.message.contains("gave up"), "{}: {error}", path.display());
        }
    }
}
