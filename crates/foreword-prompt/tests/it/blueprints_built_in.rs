//! The five built-in blueprints are valid and match the design.

use std::collections::BTreeSet;

use foreword_prompt::blueprint::{Blueprint, builtin};
use foreword_prompt::layer::{Authority, Overflow, Source};
use foreword_prompt::trust::Trust;

fn all() -> impl Iterator<Item = Blueprint> {
    builtin::NAMES.into_iter().map(|name| builtin::blueprint(name).unwrap())
}

fn ids(name: &str) -> Vec<String> {
    builtin::blueprint(name).unwrap().layers.iter().map(|layer| layer.id.to_string()).collect()
}

#[test]
fn built_in_blueprints_have_cache_order_and_unique_ids() {
    for blueprint in all() {
        let name = &blueprint.name;
        assert!(!blueprint.allow_cache_unsafe, "{name}");
        assert!(blueprint.layers.is_sorted_by_key(|layer| layer.stability), "{name}");
        let unique: BTreeSet<_> = blueprint.layers.iter().map(|layer| &layer.id).collect();
        assert_eq!(unique.len(), blueprint.layers.len(), "{name}");
    }
}

#[test]
fn policy_is_never_cut_in_any_built_in_blueprint() {
    for blueprint in all() {
        for layer in blueprint.layers.iter().filter(|layer| layer.authority == Authority::Policy) {
            assert_eq!(layer.fit.overflow, Overflow::Reject, "{} {}", blueprint.name, layer.id);
            assert_eq!(layer.fit.max_tokens, None, "{} {}", blueprint.name, layer.id);
        }
    }
}

#[test]
fn five_blueprints_have_their_designed_layers() {
    assert_eq!(
        ids("gateway"),
        [
            "precedence",
            "soul",
            "behaviour",
            "workspace",
            "tools",
            "skills",
            "user",
            "channel",
            "situation",
            "runtime",
            "memory",
            "long_term"
        ]
    );
    assert_eq!(ids("vm"), ["identity", "tools", "workflows", "session", "custom"]);
    assert_eq!(ids("sovereign"), (0..=10).map(|id| id.to_string()).collect::<Vec<_>>());
    assert_eq!(ids("template"), ["template"]);
    assert_eq!(ids("agent"), ["instructions"]);
}

#[test]
fn only_sovereign_layers_6_to_9_are_mutable() {
    for blueprint in all() {
        for layer in &blueprint.layers {
            let editable =
                &*blueprint.name == "sovereign" && matches!(layer.id.as_str(), "6" | "7" | "8" | "9");
            assert_eq!(layer.mutable.map(|mutable| mutable.max_chars), editable.then_some(4_000));
        }
    }
}

#[test]
fn layer_without_trust_defaults_to_files_or_full() {
    let written = |source: &str| {
        let yaml = format!("layers: [{{ id: x, stability: agent, source: {source} }}]");
        Blueprint::from_spec("mine", &serde_saphyr::from_str(&yaml).unwrap()).unwrap().layers.remove(0)
    };
    assert_eq!(written("{ text: Be kind. }").trust, Trust::Full);
    let file = written("{ file: NOTES.md }");
    let Source::File(source) = &file.source else { panic!("{file:?}") };
    assert_eq!(
        (file.trust, source.unlisted),
        (Trust::Public, Trust::Full),
        "a file no rule is about is the owner's"
    );
}
