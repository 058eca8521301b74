//! Checks the rules of the code base that the compiler and its lints cannot check: module docs, names, dependencies
//! between crates and modules, plain English, and the documented invariants and reasons for dependencies.
//!
//! Uses the standard library only and inspects the text of the files.

#[path = "tidy/language.rs"]
mod language;
#[path = "tidy/language_rules.rs"]
mod language_rules;
#[path = "tidy/manifest.rs"]
mod manifest;
#[path = "tidy/module_graph.rs"]
mod module_graph;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use manifest::{Kind, Manifest};
use module_graph::ModuleGraph;

/// Names that do not describe the content.
const EMPTY_NAMES: [&str; 7] = ["utils", "util", "helpers", "helper", "common", "manager", "misc"];

/// The allowed dependencies between our crates. They point down only.
const MAY_KNOW: [(&str, &[&str]); 15] = [
    ("foreword-prompt", &[]),
    ("foreword-core", &["foreword-prompt"]),
    ("foreword-tls", &[]),
    ("foreword-workspace", &["foreword-core", "foreword-prompt"]),
    ("foreword-store", &["foreword-core", "foreword-prompt", "foreword-tls"]),
    ("foreword-providers", &["foreword-core", "foreword-prompt", "foreword-tls"]),
    ("foreword-offline", &["foreword-core", "foreword-prompt"]),
    ("foreword-observe", &["foreword-core", "foreword-prompt", "foreword-tls"]),
    ("foreword-agent", BELOW_THE_AGENT),
    ("foreword-server", BELOW_THE_SERVER),
    ("foreword", EVERYTHING),
    // Never shipped: what tests, fuzzing and measurements stand on.
    (TESTKIT, &["foreword-core", "foreword-prompt"]),
    ("foreword-fuzz", EVERYTHING),
    ("foreword-bench", EVERYTHING),
    (BENCH_HTTP, &[]),
];
const BENCH_HTTP: &str = "foreword-bench-http";
const EVERYTHING: &[&str] = &[
    "foreword-server",
    "foreword-agent",
    "foreword-observe",
    "foreword-providers",
    "foreword-offline",
    "foreword-store",
    "foreword-workspace",
    "foreword-tls",
    "foreword-core",
    "foreword-prompt",
];
const BELOW_THE_SERVER: &[&str] = EVERYTHING.split_at(1).1;
const BELOW_THE_AGENT: &[&str] = EVERYTHING.split_at(2).1;
const TESTKIT: &str = "foreword-testkit";

/// What a pure crate's `clippy.toml` must refuse, at least.
const IMPURE: [&str; 14] = [
    "std::time::SystemTime::now",
    "std::time::Instant::now",
    "std::env::var",
    "std::env::current_dir",
    "std::fs::read",
    "std::fs::read_to_string",
    "std::fs::write",
    "std::fs::File",
    "std::thread::spawn",
    "std::process::Command::new",
    "std::net::TcpStream",
    "std::net::UdpSocket",
    "std::collections::HashMap",
    "std::collections::HashSet",
];

#[test]
fn every_module_starts_with_its_purpose() -> io::Result<()> {
    // Build scripts are not looked at, nor what is under `tests/`: there the names of the tests say it.
    let silent = rust_files()?
        .into_iter()
        .filter(|file| file.path.split('/').any(|part| part == "src") && !file.text.starts_with("//! "));
    none(silent.map(|file| format!("{}: begin with `//!` and what this module is for", file.path)))
}

#[test]
fn module_names_are_specific() -> io::Result<()> {
    let mut found = Vec::new();
    for file in rust_files()? {
        let path = file.path.strip_suffix(".rs").unwrap_or(&file.path);
        let named = path.split('/').chain(file.text.lines().filter_map(declared_module));
        let empty = named.filter(|name| EMPTY_NAMES.iter().any(|word| last_word(name) == *word));
        found.extend(empty.map(|name| format!("{}: call `{name}` after what is in it", file.path)));
    }
    none(found)
}

#[test]
fn crates_know_only_the_crates_below_them() -> io::Result<()> {
    let allowed: BTreeMap<_, _> = MAY_KNOW.into_iter().collect();
    let mut found = Vec::new();
    for manifest in manifests()?.iter().filter(|manifest| !manifest.name.is_empty()) {
        let name = manifest.name.as_str();
        let Some(below) = allowed.get(name) else {
            found.push(format!("{name}: say in `MAY_KNOW` which crates it may know"));
            continue;
        };
        for dependency in manifest.dependencies.iter().filter(|dependency| is_ours(&dependency.name)) {
            let for_tests = dependency.kind == Kind::Dev && dependency.name == TESTKIT;
            let for_bench = name == "foreword-bench" && dependency.name == BENCH_HTTP;
            if !for_tests && !for_bench && !below.contains(&dependency.name.as_str()) {
                found.push(format!("{name} must not depend on {} ({:?})", dependency.name, dependency.kind));
            }
        }
    }
    none(found)
}

#[test]
fn every_crate_uses_the_workspace_lints() -> io::Result<()> {
    let free = manifests()?
        .into_iter()
        .filter(|manifest| !manifest.name.is_empty() && !manifest.text.contains("[lints]\nworkspace = true"));
    none(free.map(|manifest| format!("{}: add `[lints]` with `workspace = true`", manifest.name)))
}

#[test]
fn tests_are_named_as_sentences() -> io::Result<()> {
    // Put together here, or this file would be the first to break the rule.
    let prefix = ["fn", " ", "test", "_"].concat();
    let named = rust_files()?.into_iter().filter(|file| file.text.contains(&prefix));
    none(named.map(|file| format!("{}: name tests after what is true while they pass", file.path)))
}

/// Where the cause of a failure may leave `OwnerOnly` without a proof: to be recorded, for readers that check trust.
const RECORDS_CAUSES: [&str; 3] = [
    "crates/foreword-core/src/",
    "crates/foreword-store/src/",
    // All of the agent but what answers models and other agents.
    "crates/foreword-agent/src/",
];
const SHOWS_CAUSES: [&str; 2] =
    ["crates/foreword-server/src/live/stream_event.rs", "crates/foreword-server/src/problem.rs"];
const ANSWERS: [&str; 2] = ["crates/foreword-agent/src/tools/", "crates/foreword-agent/src/external_client/"];

#[test]
fn error_causes_are_exposed_only_to_checked_readers() -> io::Result<()> {
    let starts = |path: &str, folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let wrong = |file: &SourceFile| {
        let may_record = starts(&file.path, &RECORDS_CAUSES) && !starts(&file.path, &ANSWERS);
        let records = file.text.contains("for_record(") || file.text.contains("::for_record");
        let is_terminal =
            file.path == "crates/foreword/src/failure.rs" || file.path.starts_with("crates/foreword-core/");
        let forges = file.text.contains("OwnerProof::at_terminal(") && !is_terminal;
        forges || records && !may_record && !SHOWS_CAUSES.contains(&file.path.as_str())
    };
    let sources = rust_files()?.into_iter().filter(|file| file.path.contains("/src/"));
    let found = sources.filter(wrong).map(|file| file.path);
    none(found.map(|path| {
        format!("{path}: show a cause by `at`, `visible_at` or `reveal`, to the reader it is for")
    }))
}

#[test]
fn every_invariant_names_a_test_that_exists() -> io::Result<()> {
    let tests: BTreeSet<String> =
        rust_files()?.iter().flat_map(|file| tests_in(&file.text).map(str::to_owned)).collect();
    let map = read("docs/invariants.md")?;
    let rows = table_rows(&map, "## Invariants");
    assert!(!rows.is_empty(), "docs/invariants.md: a table under `## Invariants` is missing");
    let mut found = Vec::new();
    for row in rows {
        let invariant = row.first().copied().unwrap_or_default();
        let held_by = row.last().map(|cell| in_backticks(cell)).unwrap_or_default();
        if held_by.is_empty() {
            found.push(format!("docs/invariants.md: no test is named for \"{invariant}\""));
        }
        let missing = held_by.into_iter().filter(|name| !tests.contains(*name));
        found.extend(
            missing.map(|name| format!("docs/invariants.md: there is no test `{name}`: \"{invariant}\"")),
        );
    }
    none(found)
}

#[test]
fn glossary_types_exist() -> io::Result<()> {
    let files = rust_files()?;
    let glossary = read("docs/glossary.md")?;
    let is_missing = |path: &&str| {
        let (crate_name, rest) = path.split_once("::").unwrap_or((path, ""));
        let folder = format!("crates/{}/src/", crate_name.replace('_', "-"));
        let name = rest.rsplit("::").next().unwrap_or_default();
        let mut lines =
            files.iter().filter(|file| file.path.starts_with(&folder)).flat_map(|file| file.text.lines());
        !lines.any(|line| declared_type(line) == Some(name) || declared_module(line) == Some(name))
    };
    let paths = in_backticks(&glossary).into_iter().filter(|path| path.starts_with("foreword_"));
    none(paths.filter(is_missing).map(|path| format!("docs/glossary.md: there is no `{path}`")))
}

#[test]
fn every_dependency_is_explained_and_used() -> io::Result<()> {
    let page = read("docs/dependencies.md")?;
    let explained: BTreeSet<_> = page.lines().filter_map(explained_dependency).collect();
    let (manifests, package) = (manifests()?, read("web/package.json")?);
    let used: BTreeSet<_> = manifests
        .iter()
        .flat_map(|manifest| &manifest.dependencies)
        .map(|dependency| dependency.name.as_str())
        .filter(|name| !is_ours(name))
        .chain(page_dependencies(&package))
        .collect();
    let unexplained = used.difference(&explained).map(|name| format!("say why we need `{name}`"));
    let unused =
        explained.difference(&used).map(|name| format!("`{name}` is in no manifest: remove its line"));
    none(unexplained.chain(unused).map(|problem| format!("docs/dependencies.md: {problem}")))
}

/// What the web page is made with, from its manifest.
fn page_dependencies(package: &str) -> impl Iterator<Item = &str> {
    let lists = ["\"dependencies\": {", "\"devDependencies\": {"];
    lists.into_iter().filter_map(|list| package.split_once(list)?.1.split_once('}')).flat_map(|(list, _)| {
        list.lines().filter_map(|line| Some(line.trim().strip_prefix('"')?.split_once('"')?.0))
    })
}

#[test]
fn page_libraries_are_found_in_its_manifest() {
    let package = r#"{ "scripts": { "dev": "vite" },
      "dependencies": {
        "@codemirror/view": "^6",
        "preact": "^11"
      },
      "devDependencies": {
        "vite": "^8"
      } }"#;
    assert_eq!(page_dependencies(package).collect::<Vec<_>>(), ["@codemirror/view", "preact", "vite"]);
}

#[test]
fn documentation_links_lead_to_existing_files() -> io::Result<()> {
    let mut pages =
        vec!["README.md".into(), "ARCHITECTURE.md".into(), "CONTRIBUTING.md".into(), "CHANGELOG.md".into()];
    for folder in ["docs", "examples"] {
        walk(folder, &mut pages)?;
    }
    pages.retain(|page: &String| page.ends_with(".md"));
    let mut found = Vec::new();
    for page in &pages {
        let text = read(page)?;
        let folder = repository().join(page).parent().map(Path::to_path_buf).unwrap_or_default();
        let missing = local_links(&text).filter(|link| !folder.join(link).exists());
        found.extend(missing.map(|link| format!("{page}: there is no `{link}`")));
    }
    none(found)
}

#[test]
fn source_paths_in_the_documentation_exist() -> io::Result<()> {
    let mut found = Vec::new();
    let is_page = |path: &str| path.starts_with("docs/") || !path.contains('/');
    for page in sources(&["md"])?.iter().filter(|page| is_page(&page.path)) {
        let missing = page.text.lines().flat_map(in_backticks).filter(|word| is_missing_source(word));
        found.extend(missing.map(|path| format!("{}: there is no `{path}`", page.path)));
    }
    none(found)
}

/// Whether `word` is the path of a source file, with or without `crates/`, that does not exist.
fn is_missing_source(word: &str) -> bool {
    let path = word.strip_prefix("crates/").unwrap_or(word);
    let is_path =
        path.split_once('/').is_some_and(|(name, rest)| is_ours(name) && !rest.contains([' ', '*']));
    is_path && !repository().join("crates").join(path).exists()
}

/// The files that a page links to or shows.
fn local_links(page: &str) -> impl Iterator<Item = &str> {
    let links = page.split("](").skip(1).filter_map(|behind| behind.split([')', '#', ' ']).next());
    links.filter(|link| !link.is_empty() && !link.contains("://"))
}

#[test]
fn links_are_found_with_and_without_anchors() {
    let page = "[a](b.md) ![c](d/e.png), [f](g.md#h) and [i](#j), [k](https://l.example/m)";
    assert_eq!(local_links(page).collect::<Vec<_>>(), ["b.md", "d/e.png", "g.md"]);
}

#[test]
fn pure_crates_reject_io_threads_and_unordered_maps() -> io::Result<()> {
    let root = read("clippy.toml")?;
    let mut found = Vec::new();
    for name in ["foreword-prompt", "foreword-core"] {
        let path = format!("crates/{name}/clippy.toml");
        let own = read(&path)?;
        let banned = |path: &&str| own.contains(&format!("path = \"{path}\""));
        found.extend(
            IMPURE.iter().filter(|path| !banned(path)).map(|item| format!("{path}: refuse `{item}`")),
        );
        // A nearer clippy.toml replaces the root's, so what the root says must be said again.
        let settings = root.lines().filter(|line| line.contains(" = "));
        let lost = settings.filter(|setting| !own.lines().any(|line| line == *setting));
        found.extend(lost.map(|setting| format!("{path}: repeat the root's `{setting}`")));
    }
    none(found)
}

/// The most modules that may use each other in a circle.
const MAX_CYCLE: usize = 8;

/// Where `std::time::Instant` is read: outside of tokio, or in an interface of a library. Elsewhere tokio's is used,
/// which tests can pause.
const REAL_CLOCKS: [&str; 10] = [
    // Times a pure function in a test.
    "crates/foreword-core/src/cache/tests/shapes.rs",
    // Threads of their own.
    "crates/foreword-observe/src/lines/queue.rs",
    "crates/foreword-store/src/engine/sqlite/watch.rs",
    "crates/foreword-workspace/src/variables/git.rs",
    // The interface of the connection pool.
    "crates/foreword-store/src/engine/postgres/pool.rs",
    // Measured by benchmarks.
    "crates/foreword-testkit/src/connection.rs",
    "crates/foreword-testkit/src/received.rs",
    // Progress on a terminal.
    "crates/foreword/src/chat/wait_indicator.rs",
    "crates/foreword/src/command/serve/demo/history.rs",
    "crates/foreword/src/output/progress.rs",
];

#[test]
fn std_instants_are_used_only_outside_tokio() -> io::Result<()> {
    let uses = |line: &str| {
        let path = line.split_once("std::time::").map_or("", |(_, path)| path);
        path.starts_with("Instant") || path.starts_with('{') && path.contains("Instant")
    };
    let files = rust_files()?.into_iter().filter(|file| {
        file.path.starts_with("crates/") && file.path.contains("/src/") && file.text.lines().any(uses)
    });
    let found: BTreeSet<String> = files.map(|file| file.path).collect();
    let listed: BTreeSet<String> = REAL_CLOCKS.map(str::to_owned).into();
    let new = found.difference(&listed).map(|path| format!("{path}: use `tokio::time::Instant`"));
    let stale = listed.difference(&found).map(|path| format!("{path}: remove it from `REAL_CLOCKS`"));
    none(new.chain(stale))
}

#[test]
fn module_cycles_are_small() -> io::Result<()> {
    let mut graphs: BTreeMap<String, ModuleGraph> = BTreeMap::new();
    for file in rust_files()? {
        let Some((name, path)) = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"))
        else {
            continue;
        };
        graphs.entry(name.to_owned()).or_default().add(path, &file.text);
    }
    let mut found = Vec::new();
    for (name, graph) in &graphs {
        let large = graph.cycles().into_iter().filter(|modules| modules.len() > MAX_CYCLE);
        found.extend(
            large.map(|modules| format!("{name}: {} modules: {}", modules.len(), modules.join(", "))),
        );
    }
    none(found)
}

/// Every file of ours whose name ends in one of these extensions.
fn sources(extensions: &[&str]) -> io::Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    walk("", &mut paths)?;
    paths.retain(|path| extensions.iter().any(|extension| path.rsplit('.').next() == Some(extension)));
    paths.retain(|path| !path.contains("/dist/"));
    paths.sort();
    paths.into_iter().map(|path| Ok(SourceFile { text: read(&path)?, path })).collect()
}

/// Passes if there are no problems, and otherwise shows all of them at once.
fn none(problems: impl IntoIterator<Item = String>) -> io::Result<()> {
    let problems: Vec<String> = problems.into_iter().collect();
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
    Ok(())
}

struct SourceFile {
    /// Below the repository, with `/` between its parts.
    path: String,
    text: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> io::Result<String> {
    fs::read_to_string(repository().join(path)).map_err(|error| io::Error::other(format!("{path}: {error}")))
}

/// Every Rust file we wrote, in order.
fn rust_files() -> io::Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    walk("", &mut paths)?;
    paths.retain(|path| path.ends_with(".rs"));
    paths.sort();
    paths.into_iter().map(|path| Ok(SourceFile { text: read(&path)?, path })).collect()
}

/// Adds every file below `folder`, except what is hidden, built or fetched.
fn walk(folder: &str, paths: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(repository().join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_file() {
            paths.push(path);
        } else if kind.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
            walk(&path, paths)?;
        }
    }
    Ok(())
}

/// The name in `mod name;` or `pub(crate) mod name {`.
fn declared_module(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    let name = (words.next()? == "mod").then(|| words.next())??;
    Some(name.trim_end_matches([';', '{']))
}

/// The name in `struct Name`, `enum Name`, `trait Name` or `type Name`.
fn declared_type(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
    let name = ["struct", "enum", "trait", "type"].contains(&words.next()?).then(|| words.next())??;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

fn last_word(name: &str) -> &str {
    name.rsplit(['_', '-']).next().unwrap_or(name)
}

/// The functions marked as tests. Other attributes may stand between the mark and the function.
fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    let mut marked = false;
    text.lines().map(str::trim).filter_map(move |line| {
        if line.starts_with("#[") {
            marked |= line.starts_with("#[test") || line.contains("::test");
            return None;
        }
        let is_test = std::mem::take(&mut marked);
        let (_, name) = line.split_once("fn ").filter(|_| is_test)?;
        name.split(['(', '<']).next()
    })
}

/// The cells of each row of the first table under `heading`, without its head.
fn table_rows<'t>(page: &'t str, heading: &str) -> Vec<Vec<&'t str>> {
    let section = page.lines().skip_while(|line| *line != heading).skip(1);
    let rows = section.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|'));
    rows.skip(2).map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

fn in_backticks(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// The name in a row ``| `name` | why |``.
fn explained_dependency(line: &str) -> Option<&str> {
    let (name, reason) = line.strip_prefix("| `")?.split_once("` | ")?;
    (reason.trim_end_matches('|').trim().len() > 10).then_some(name)
}

fn is_ours(name: &str) -> bool {
    name == "foreword" || name.starts_with("foreword-")
}

/// Every manifest in the repository.
fn manifests() -> io::Result<Vec<Manifest>> {
    let mut paths = Vec::new();
    walk("", &mut paths)?;
    paths.retain(|path| path.rsplit('/').next() == Some("Cargo.toml"));
    paths.sort();
    paths.iter().map(|path| read(path).map(Manifest::read)).collect()
}

#[test]
fn only_functions_marked_as_tests_count_as_tests() {
    let text = "#[test]\nfn a() {}\n#[tokio::test]\n#[ignore]\nasync fn b() {}\nfn c() {}\n    #[test]\n    fn d(x in y()) {\n";
    assert_eq!(tests_in(text).collect::<Vec<_>>(), ["a", "b", "d"]);
}
