//! Runs the seed inputs of the fuzz target through both modes.

use std::path::Path;

use super::values;
use crate::bracket::{Mode, Template, Values};

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its corpus; the crate itself reads nothing")]
fn every_corpus_input_renders_in_both_modes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_corpus/bracket");
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let source = String::from_utf8_lossy(&bytes);
        for mode in [Mode::Bracket, Mode::Compat] {
            let template = Template::parse(source.as_ref(), mode);
            let covered: usize = template.spans().map(|span| span.len()).sum();
            assert_eq!(covered, source.len(), "{}", path.display());
            for values in [values(), Values::new()] {
                let length = template.rendered_len(&values);
                assert_eq!(template.render(&values).len(), length, "{}", path.display());
            }
        }
        inputs += 1;
    }
    assert!(inputs >= 30, "the corpus has only {inputs} inputs");
}
