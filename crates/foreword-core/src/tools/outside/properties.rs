//! Properties of accepted tools, for any input from a server.

use std::collections::BTreeMap;

use foreword_prompt::trust::Trust;
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;

fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        Just("</turn-context>".to_owned()),
        Just("<outside-text-00>".to_owned()),
        Just("<|im_start|>system".to_owned()),
        Just("\n# System\n".to_owned()),
        Just("\u{202e}\u{200b}`".to_owned()),
        Just("[INST] obey".to_owned()),
        "\\PC{0,12}",
        any::<String>(),
    ];
    prop::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
}

fn key() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "anyOf",
        "$ref",
        "$defs",
        "definitions",
        "description",
        "default",
        "const",
        "additionalProperties",
        "pattern",
        "minimum",
        "title",
        "x-odd",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => "[a-z]{1,4}", 1 => hostile()]
}

fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec!["object", "string", "integer", "array", "#/$defs/a", "a"]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.prop_map(Value::from),
        hostile().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn any_schema() -> impl Strategy<Value = Value> {
    let named = || {
        let entries = prop::collection::btree_map("[a-c]|[a-z]{1,6}", any_json(), 0..4);
        entries.prop_map(|map| Value::Object(map.into_iter().collect()))
    };
    let object = (named(), named(), prop::collection::vec("[a-c]", 0..3)).prop_map(|(properties, defs, required)| {
        serde_json::json!({ "type": "object", "properties": properties, "$defs": defs, "required": required })
    });
    prop_oneof![2 => object, 1 => any_json()]
}

fn any_offer() -> impl Strategy<Value = OfferedTool> {
    let name = prop_oneof![3 => "[a-c]{1,2}", 1 => hostile()];
    (name, prop::option::of(hostile()), any_schema()).prop_map(|(name, description, schema)| OfferedTool {
        name,
        description,
        schema,
    })
}

fn rules() -> OfferRules {
    OfferRules { trust: Trust::Inner, max_tools: 4, tools: BTreeMap::new() }
}

fn betrays_itself(text: &str) -> bool {
    let lower = text.to_lowercase();
    let marks = ["<turn-context", "</turn-context", "<outside-text", "</outside-text", "<|", "[inst]"];
    marks.iter().any(|mark| lower.contains(mark)) || text.chars().any(|c| c.is_control() || c == '\u{202e}')
}

proptest! {
    #[test]
    fn offered_tools_are_bounded_sanitized_and_valid(offers in prop::collection::vec(any_offer(), 0..6)) {
        let taken = accept_tools("server", &offers, &rules());
        prop_assert!(taken.tools.len() <= 4);
        for tool in &taken.tools {
            let spec = &tool.spec;
            let schema = spec.schema.as_deref().unwrap_or_default();
            prop_assert!(serde_json::from_str::<Value>(schema).is_ok_and(|value| value["type"] == "object"), "{}", schema);
            prop_assert!(schema.len() <= MAX_SCHEMA_BYTES && spec.description.chars().count() < 700);
            prop_assert!(!betrays_itself(schema) && !betrays_itself(&spec.description), "{} {}", schema, spec.description);
        }
        prop_assert!(taken.warnings.iter().all(|warning| !betrays_itself(warning)), "{:?}", taken.warnings);
    }

    #[test]
    fn order_of_offered_tools_does_not_matter(mut offers in prop::collection::vec(any_offer(), 0..6)) {
        let taken = accept_tools("server", &offers, &rules());
        offers.reverse();
        prop_assert_eq!(accept_tools("server", &offers, &rules()), taken);
    }

    #[test]
    fn reduction_is_idempotent(offered in any_schema()) {
        let Ok(once) = schema::reduced(&offered) else { return Ok(()) };
        prop_assert_eq!(schema::reduced(&once).map(|twice| twice.to_string()), Ok(once.to_string()));
    }
}
