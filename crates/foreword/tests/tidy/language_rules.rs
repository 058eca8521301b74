//! The language rules, applied to every file: plain English in comments, pages and texts, plain names, no tuples as
//! parameters, no two public types of one name.

use std::collections::BTreeMap;
use std::io;

use super::{language, none, rust_files, sources};

#[test]
fn comments_and_pages_use_plain_english() -> io::Result<()> {
    let mut found = Vec::new();
    for file in sources(&["rs", "ts", "tsx"])? {
        // The list of denied phrases itself, and types generated from the API document.
        if file.path.ends_with("tidy/language.rs") || file.path.ends_with("schema.d.ts") {
            continue;
        }
        for (line, text) in language::comments(&file.text) {
            found.extend(
                language::denied_phrases(text).map(|phrase| format!("{}:{line}: `{phrase}`", file.path)),
            );
        }
    }
    // Other pages are prompts and samples.
    let is_page = |path: &str| path.starts_with("docs/") || !path.contains('/');
    for file in sources(&["md"])?.iter().filter(|file| is_page(&file.path)) {
        for (line, text) in language::prose(&file.text) {
            found.extend(
                language::denied_phrases(text).map(|phrase| format!("{}:{line}: `{phrase}`", file.path)),
            );
        }
    }
    none(found)
}

#[test]
fn texts_for_users_and_models_use_plain_english() -> io::Result<()> {
    let mut found = Vec::new();
    for file in sources(&["rs", "ts", "tsx"])? {
        for (line, text) in language::texts(&file.path, &file.text) {
            found.extend(
                language::denied_phrases(&text).map(|phrase| format!("{}:{line}: `{phrase}`", file.path)),
            );
        }
    }
    none(found)
}

#[test]
fn files_and_types_have_plain_names() -> io::Result<()> {
    let mut found = Vec::new();
    for file in &rust_files()? {
        if file.path.contains("/src/") && language::is_participle(&file.path) {
            found.push(format!("{}: name the file by a noun, or by the verb of its function", file.path));
        }
        let names = language::denied_names(&file.text);
        found.extend(
            names.map(|name| format!("{}: `{name}` hides what it is; use the field's term", file.path)),
        );
    }
    none(found)
}

#[test]
fn parameters_are_not_bundled_in_tuples() -> io::Result<()> {
    let mut found = Vec::new();
    // The test of this rule has examples.
    for file in rust_files()?.iter().filter(|file| !file.path.ends_with("tidy/language.rs")) {
        let functions = language::tuple_parameters(&file.text).into_iter();
        found.extend(
            functions.map(|name| format!("{}: `{name}`: pass plain arguments or a struct", file.path)),
        );
    }
    none(found)
}

#[test]
fn public_types_share_no_names() -> io::Result<()> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in
        rust_files()?.iter().filter(|file| file.path.starts_with("crates/") && file.path.contains("/src/"))
    {
        for name in language::public_types(&file.text) {
            places.entry(name.to_owned()).or_default().push(file.path.clone());
        }
    }
    let shared = places.into_iter().filter(|(_, files)| files.len() > 1);
    none(shared.map(|(name, files)| format!("`{name}` is declared in {}", files.join(", "))))
}
