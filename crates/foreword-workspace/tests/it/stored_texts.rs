//! Prompts with stored texts: which text is used, which version is reported, and what is rebuilt.

use std::collections::BTreeMap;
use std::sync::Arc;

use foreword_prompt::blueprint::builtin;
use foreword_prompt::layer::{Dialect, LayerId};
use foreword_prompt::prompt::Warning;
use foreword_prompt::report::{LayerReport, Report, View};
use foreword_prompt::stored::{StoredLayer, StoredTemplate, StoredTexts};
use foreword_workspace::build::Built;
use foreword_workspace::check::{Finding, Findings, check};
use foreword_workspace::error::WorkspaceError;
use foreword_workspace::request::Request;
use foreword_workspace::speaker::Speaker;
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

/// A stored text for layer 6 of `sovereign`.
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
fn stored_layers_replace_defaults_and_report_versions() {
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
fn stored_text_is_data_without_placeholders() {
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
fn layers_of_other_blueprints_and_immutable_layers_are_ignored() {
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
fn compact_prompts_summarise_stored_layers_without_version() {
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
fn stored_template_precedes_file_and_default() {
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
fn missing_template_file_is_ignored_if_one_is_stored() {
    let config = format!("{TEMPLATE}prompt: {{ template_file: prompts/system.md }}\n");
    let folder = folder(&config);
    let workspace = open(&folder);
    assert_eq!(build(&workspace, template(1, "Stored.")).prompt.text(), "Stored.");
    let request = Request { stored: None, ..request(template(1, "")) };
    assert!(workspace.build(&request).is_err(), "without one it is");
}

#[test]
fn layers_keep_their_own_template_file() {
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

/// The stored template replaces the configured file, so the same users may see it.
#[test]
fn file_rules_apply_to_the_stored_template() {
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
        let request = Request {
            speaker: Speaker {
                user: Some(user.into()),
                ..request(template(1, "The family's secrets.")).speaker.clone()
            },
            ..request(template(1, "The family's secrets."))
        };
        workspace.build(&request).unwrap()
    };
    assert_eq!(of("alice").prompt.text(), "The family's secrets.");
    let bob = of("bob");
    assert_eq!((bob.prompt.text().as_str(), bob.stored.template), ("", None));
    let withheld = |warning: &Warning| warning.code == "file_withheld" && warning.for_owner;
    assert!(bob.prompt.facts.warnings.iter().any(withheld));
}

#[test]
fn stored_templates_use_configured_dialect_and_includes() {
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
fn layer_dialect_overrides_the_configured_one() {
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
fn stored_versions_determine_the_cached_prompt() {
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
fn later_minutes_keep_the_stored_versions() {
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
    check(&open(&folder(config)), stored.map(Arc::new).as_slice(), &now)
}

#[test]
fn stored_templates_are_checked_instead_of_the_file() {
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
fn failing_stored_jinja_templates_fail_the_check() {
    let config =
        "agent: { blueprint: template }\nusers: [{ name: alice, trust: full }]\nprompt: { dialect: jinja }\n";
    let found = looked_over(config, Some(template(3, "{% if %}")));
    let [Finding::Error(WorkspaceError::Template(error))] = &found.errors[..] else { panic!("{found:?}") };
    assert_eq!(&*error.file, "stored template v3");
}
