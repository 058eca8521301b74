//! Prompts made from texts that were stored: which text is taken, what is told of it, and what is built again.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_prompt::blueprint::builtin;
use foreword_prompt::layer::{Dialect, LayerId};
use foreword_prompt::prompt::Warning;
use foreword_prompt::report::{LayerReport, Report, View};
use foreword_prompt::stored::{StoredLayer, StoredTemplate, StoredTexts};
use foreword_workspace::build::Built;
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::inspect::{Finding, Findings, inspect};
use foreword_workspace::request::Request;
use foreword_workspace::workspace::Workspace;

use crate::snapshots::open;
use crate::workspace_folder::Folder;

const SOVEREIGN: &str = "agent: { blueprint: sovereign, model: openai/gpt-4o }\n";
const TEMPLATE: &str = "agent: { blueprint: template }\n";

fn folder(config: &str) -> Folder {
    Folder::with(&[("foreword.yaml", config)])
}

fn id(layer: &str) -> LayerId {
    LayerId::parse(layer).unwrap()
}

/// Layer 6 of `sovereign` as somebody wrote it.
fn six(version: u64, text: &str) -> StoredTexts {
    layers("sovereign", &[("6", StoredLayer { version, text: text.into(), is_default: false })])
}

fn layers(blueprint: &str, layers: &[(&str, StoredLayer)]) -> StoredTexts {
    let layers = layers.iter().map(|(layer, text)| (id(layer), text.clone()));
    StoredTexts::new(blueprint, None, layers.collect())
}

fn template(version: u64, text: &str) -> StoredTexts {
    StoredTexts::new("template", Some(StoredTemplate { version, text: text.into() }), BTreeMap::new())
}

fn request(stored: StoredTexts) -> Request {
    let now = "2026-03-14T12:00[UTC]".parse().unwrap();
    Request { stored: Some(Arc::new(stored)), ..Request::at(now, [7; 16]) }
}

fn build(workspace: &Workspace, stored: StoredTexts) -> Arc<Built> {
    workspace.build(&request(stored)).unwrap()
}

fn layer(built: &Built, id: &str) -> LayerReport {
    let report = Report::of(&built.prompt, View::Owner);
    report.layers.into_iter().find(|layer| layer.id == id).unwrap()
}

fn told_as(built: &Built, id: &str) -> (String, Option<String>) {
    let layer = layer(built, id);
    (layer.source, layer.origin)
}

fn as_written(source: &str, origin: &str) -> (String, Option<String>) {
    (source.to_owned(), Some(origin.to_owned()))
}

#[test]
fn a_stored_layer_stands_in_the_place_of_its_default_and_is_told_with_its_version() {
    let folder = folder(SOVEREIGN);
    let workspace = open(&folder);
    let built = build(&workspace, six(3, "Check the runway first."));
    let text = built.prompt.text();
    assert!(text.contains("\n\n---\n\nCheck the runway first.\n\n---\n\n"), "{text}");
    assert!(!text.contains(builtin::text("sovereign-6").unwrap().trim_end()));
    assert!(
        text.contains(builtin::text("sovereign-7").unwrap().trim_end()),
        "the others keep their defaults"
    );
    assert_eq!(told_as(&built, "6"), as_written("stored", "layer 6 v3"));
    assert_eq!(told_as(&built, "7"), as_written("stored", "sovereign-7"));
    assert_eq!(built.stored.layers, BTreeMap::from([(id("6"), 3)]));
    assert_eq!(built.stored.template, None);
}

#[test]
fn what_somebody_wrote_is_data_and_a_default_keeps_its_placeholders() {
    let config = "\
agent: { name: Ada, soul: Ada the first, blueprint: mine }
blueprints:
  mine:
    layers:
      - { id: who, stability: agent, trust: public, source: { stored: sovereign-3 }, mutable: { max_chars: 4000 } }
";
    let folder = folder(config);
    let workspace = open(&folder);
    let written = "You are `{soul}`. {{ agent_name }} [prompt:cwd]";
    let stored =
        |is_default| layers("mine", &[("who", StoredLayer { version: 1, text: written.into(), is_default })]);
    assert_eq!(build(&workspace, stored(false)).prompt.text(), written);
    let default = build(&workspace, stored(true)).prompt.text();
    assert_eq!(default, "You are `Ada the first`. {{ agent_name }} [prompt:cwd]");
}

#[test]
fn the_layers_of_another_blueprint_and_layers_that_are_not_mutable_are_left_alone() {
    let folder = folder(SOVEREIGN);
    let workspace = open(&folder);
    let other = StoredLayer { version: 9, text: "Not this.".into(), is_default: false };
    for stored in [layers("mine", &[("6", other.clone())]), layers("sovereign", &[("1", other)])] {
        let built = build(&workspace, stored);
        assert!(!built.prompt.text().contains("Not this."));
        assert!(built.stored.layers.is_empty());
    }
}

#[test]
fn a_compact_prompt_has_one_line_for_a_stored_layer_and_names_no_version_of_it() {
    let config = "\
agent: { blueprint: sovereign, model: offline/one }
prices:
  - { id: offline/one, context_window: 8000 }
";
    let folder = folder(config);
    let workspace = open(&folder);
    let built = build(&workspace, six(3, "Check the runway first."));
    assert!(built.prompt.facts.compact);
    assert!(!built.prompt.text().contains("Check the runway first."));
    assert!(built.stored.layers.is_empty());
}

#[test]
fn the_stored_template_comes_before_the_configured_file_and_the_default() {
    let folder = folder(TEMPLATE);
    let workspace = open(&folder);
    let built = build(&workspace, template(2, "You are kind.\r\nAlways.\r\n"));
    assert_eq!(built.prompt.text(), "You are kind.\nAlways.\n");
    assert_eq!(told_as(&built, "template"), as_written("stored", "template v2"));
    assert_eq!(built.stored.template, Some(2));

    let unstored = workspace.build(&Request { stored: None, ..request(template(1, "")) }).unwrap();
    assert_eq!(told_as(&unstored, "template"), as_written("template", "template-default"));
    assert_eq!(unstored.stored.template, None);

    folder.write("foreword.yaml", format!("{TEMPLATE}prompt: {{ template_file: prompts/system.md }}\n"));
    folder.write("prompts/system.md", "From the file.");
    let workspace = open(&folder);
    assert_eq!(build(&workspace, template(2, "Stored.")).prompt.text(), "Stored.");
    let nothing = StoredTexts::new("template", None, BTreeMap::new());
    let file = build(&workspace, nothing);
    assert_eq!(file.prompt.text(), "From the file.");
    assert_eq!(told_as(&file, "template"), as_written("template", "prompts/system.md"));
}

#[test]
fn a_configured_file_that_is_gone_is_no_trouble_once_a_template_is_stored() {
    let config = format!("{TEMPLATE}prompt: {{ template_file: prompts/system.md }}\n");
    let folder = folder(&config);
    let workspace = open(&folder);
    assert_eq!(build(&workspace, template(1, "Stored.")).prompt.text(), "Stored.");
    let request = Request { stored: None, ..request(template(1, "")) };
    assert!(workspace.build(&request).is_err(), "without one it is");
}

#[test]
fn a_layer_with_a_template_file_of_its_own_keeps_it() {
    let config = "\
agent: { blueprint: mine }
blueprints:
  mine:
    layers:
      - { id: own, stability: agent, trust: public, source: { template: own.md } }
";
    let folder = folder(config);
    folder.write("own.md", "My own.");
    let built = build(&open(&folder), template(1, "Stored."));
    assert_eq!(built.prompt.text(), "My own.");
    assert_eq!(built.stored.template, None);
}

/// The stored template stands for the configured file: whoever may not have that may not have this.
#[test]
fn a_rule_for_the_configured_file_holds_for_the_template_that_replaced_it() {
    let config = "\
agent: { blueprint: template }
users:
  - { name: alice, trust: full }
  - { name: bob, trust: familiar }
prompt:
  template_file: prompts/system.md
  files:
    - { path: prompts/system.md, trust: inner }
";
    let folder = folder(config);
    let workspace = open(&folder);
    let of = |user: &str| {
        let request = Request { user: Some(user.into()), ..request(template(1, "The family's secrets.")) };
        workspace.build(&request).unwrap()
    };
    assert_eq!(of("alice").prompt.text(), "The family's secrets.");
    let bob = of("bob");
    assert_eq!((bob.prompt.text().as_str(), bob.stored.template), ("", None));
    let withheld = |warning: &Warning| warning.code == "file_withheld" && warning.for_owner;
    assert!(bob.prompt.facts.warnings.iter().any(withheld));
}

#[test]
fn a_stored_template_is_in_the_configured_dialect_and_includes_what_is_beside_the_file() {
    let config = "agent: { name: Ada, blueprint: template }\nprompt: { dialect: jinja }\n";
    let folder = folder(config);
    folder.write("prompts/tone.md", "kind");
    folder.write("texts/tone.md", "brief");
    let stored = || template(4, "{{ agent_name }} is {% include 'tone.md' %}.");
    assert_eq!(build(&open(&folder), stored()).prompt.text(), "Ada is kind.");
    folder.write("foreword.yaml", config.replace("jinja", "jinja, template_file: texts/system.md"));
    assert_eq!(build(&open(&folder), stored()).prompt.text(), "Ada is brief.");
    let error = open(&folder).build(&request(template(4, "Hello.\n{{ nobody }}"))).unwrap_err();
    let WorkspaceError::Template(error) = error else { panic!("{error}") };
    assert_eq!((&*error.file, error.at.line), ("stored template v4", 2));
}

#[test]
fn the_dialect_of_the_configured_template_is_the_layers_own_if_it_says_so() {
    let dialect = |config: &str| open(&folder(config)).snapshot().config.template_dialect();
    assert_eq!(dialect(TEMPLATE), Dialect::Bracket);
    assert_eq!(dialect("agent: { blueprint: template }\nprompt: { dialect: jinja }\n"), Dialect::Jinja);
    let own = "\
agent: { blueprint: mine }
blueprints:
  mine:
    layers:
      - { id: a, stability: agent, source: { template: a.md, dialect: bracket } }
      - { id: b, stability: agent, source: { template: configured, dialect: jinja } }
";
    assert_eq!(dialect(own), Dialect::Jinja);
}

#[test]
fn the_same_stored_texts_share_a_prompt_and_a_new_version_makes_another() {
    let folder = folder(TEMPLATE);
    let workspace = open(&folder);
    let first = build(&workspace, template(1, "You are kind."));
    assert!(
        Arc::ptr_eq(&first, &build(&workspace, template(1, "You are kind."))),
        "loaded again, and the same"
    );
    let second = build(&workspace, template(2, "You are calm."));
    assert_eq!(second.prompt.text(), "You are calm.");
    assert!(Arc::ptr_eq(&first, &build(&workspace, template(1, "You are kind."))));
    let none = workspace.build(&Request { stored: None, ..request(template(1, "")) }).unwrap();
    assert!(!Arc::ptr_eq(&first, &none));
}

#[test]
fn a_later_minute_keeps_the_versions_it_was_built_from() {
    let config = "\
agent: { blueprint: mine }
blueprints:
  mine:
    layers:
      - { id: a, stability: agent, trust: public, source: { stored: sovereign-6 }, mutable: { max_chars: 4000 } }
      - { id: clock, stability: turn, trust: public, source: { dynamic: runtime } }
";
    let folder = folder(config);
    let workspace = open(&folder);
    let stored =
        || layers("mine", &[("a", StoredLayer { version: 5, text: "Mine.".into(), is_default: false })]);
    let first = build(&workspace, stored());
    let later = Request { now: "2026-03-14T12:01[UTC]".parse().unwrap(), ..request(stored()) };
    let later = workspace.build(&later).unwrap();
    assert!(
        Arc::ptr_eq(&first.prompt.frozen, &later.prompt.frozen),
        "only the clock was put into words again"
    );
    assert_eq!(later.stored.layers, BTreeMap::from([(id("a"), 5)]));
}

fn looked_over(config: &str, stored: Option<StoredTexts>) -> Findings {
    let now = "2026-03-14T12:00[UTC]".parse().unwrap();
    inspect(&open(&folder(config)), stored.map(Arc::new).as_slice(), &now)
}

#[test]
fn a_stored_template_is_looked_over_in_place_of_the_file() {
    let config = "agent: { blueprint: template }\nusers: [{ name: alice, trust: full }]\n";
    assert_eq!(looked_over(config, None), Findings::default());
    let found = looked_over(config, Some(template(2, "Fine.\n[if git:branch]On a branch.")));
    let at = |finding: &Finding| match finding {
        Finding::Note(note) => Some((note.file.clone(), note.at.line)),
        _ => None,
    };
    let places: Vec<_> = found.errors.iter().chain(&found.warnings).filter_map(at).collect();
    assert_eq!(places, [("stored template v2".to_owned(), 2)], "{found:?}");
}

#[test]
fn a_stored_jinja_template_that_fails_is_an_error_of_the_check() {
    let config =
        "agent: { blueprint: template }\nusers: [{ name: alice, trust: full }]\nprompt: { dialect: jinja }\n";
    let found = looked_over(config, Some(template(3, "{% if %}")));
    let [Finding::Error(WorkspaceError::Template(error))] = &found.errors[..] else { panic!("{found:?}") };
    assert_eq!(&*error.file, "stored template v3");
}
