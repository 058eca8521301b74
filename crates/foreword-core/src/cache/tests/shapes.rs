//! Shapes of model requests, diagnoses as text and JSON, and their speed.

use std::sync::Arc;

use foreword_prompt::prompt::CacheClass;
use foreword_prompt::tool::ToolSpec;
use foreword_prompt::trust::Trust;
use serde_json::json;

use super::super::*;
use super::case::{Reads, case};
use super::script::{KEY, Script};
use crate::message::ContentBlock;
use crate::model::{CachePlan, ModelRequest, RequestMessage, RequestRole, SystemBlock};
use crate::price::CacheTtl;

fn request(time: &str) -> ModelRequest {
    let text: Arc<str> = format!("You are kind.\n\nIt is {time}.").into();
    let said = |role, text: &str| RequestMessage { role, content: vec![ContentBlock::text(text)] };
    ModelRequest {
        model: "anthropic/claude-sonnet-5".parse().unwrap(),
        tools: Arc::from([ToolSpec::new("tides", "Tells when the water is high.", Trust::Familiar)]),
        system: vec![SystemBlock { text, class: CacheClass::Agent, tokens: 12 }],
        messages: vec![said(RequestRole::User, "hello"), said(RequestRole::Assistant, "hi")],
        max_output: None,
        cache: CachePlan::NONE,
    }
}

fn places() -> RequestPlaces {
    RequestPlaces {
        layers: vec![vec![("identity".to_owned(), 0..13), ("runtime".to_owned(), 13..32)]],
        system: vec![(0, CacheTtl::OneHour)],
        messages: vec![(1, CacheTtl::FiveMinutes)],
    }
}

#[test]
fn sections_are_in_cache_order() {
    let shape = shape_of_request(&KEY, &request("2026-06-05"), &places());
    let sections: Vec<_> =
        shape.sections().iter().map(|section| (section.name.code(), section.breakpoint)).collect();
    let expected = [
        ("tool:tides", None),
        ("system:0", Some(CacheTtl::OneHour)),
        ("message:0", None),
        ("message:1", Some(CacheTtl::FiveMinutes)),
    ];
    assert_eq!(sections, expected.map(|(name, breakpoint)| (name.to_owned(), breakpoint)));
    let Divergence::At(difference) =
        compare(&shape, &shape_of_request(&KEY, &request("2026-06-06"), &places()))
    else {
        panic!("they differ");
    };
    assert_eq!((difference.layer.as_deref(), difference.bytes.clone()), (Some("runtime"), Some(0..19)));
}

#[test]
fn peek_returns_the_hashed_bytes() {
    let request = request("2026-06-05");
    for section in shape_of_request(&KEY, &request, &places()).sections() {
        let bytes = peek_into_request(&request, &section.name, 0..usize::MAX).unwrap();
        assert_eq!(bytes.len(), section.bytes, "{}", section.name);
    }
    assert_eq!(peek_into_request(&request, &SectionName::System(0), 21..31).unwrap(), b"2026-06-05");
    assert_eq!(peek_into_request(&request, &SectionName::System(7), 0..1), None);
}

#[test]
fn shapes_of_different_keys_are_not_compared() {
    let other = ShapeKey::from_bytes([1; 32]);
    let shape = |key| RequestShape::builder(key, "m").message("user", "hello", None).build();
    assert_eq!(compare(&shape(&KEY), &shape(&other)), Divergence::Incomparable);
}

#[test]
fn repeated_texts_share_their_chunk_hashes() {
    let key = ChainKey::of(&KEY);
    let long = |word: &str| format!("{word} ").repeat(100);
    let make = |previous: Option<&RequestShape>, said: &[&str], key: &ChainKey| {
        let mut builder = RequestShape::begin(key, "m", previous)
            .tool("tides", &*long("tool"))
            .settings("thinking", Invalidates::Messages, "{}")
            .system_block(&*long("kind"), &[], None);
        for (index, word) in said.iter().enumerate() {
            let text = long(word);
            builder = match index % 2 {
                0 => builder.message("user", &*text, None),
                _ => builder.hashed_message("user", &*text, key.hash(&*text), None),
            };
        }
        builder.build()
    };
    let first = make(None, &["a", "b", "c", "d"], &key);
    let shared = |now: &RequestShape| -> usize {
        let marks = |shape: &RequestShape| -> Vec<_> {
            shape.sections.iter().map(|section| section.spans.as_slice()[0].marks.clone()).collect()
        };
        let before = marks(&first);
        marks(now).iter().filter(|now| before.iter().any(|before| before.is_shared_with(now))).count()
    };
    for (said, expected) in [
        (&["a", "b", "c", "d", "e", "f"][..], 7),
        (&["a", "b"], 5),
        (&["a", "x", "c", "d"], 6),
        (&["x", "a", "b", "c", "d"], 7),
        (&["c", "d", "e"], 5),
        (&[], 3),
    ] {
        let now = make(Some(&first), said, &key);
        assert_eq!((shared(&now), &now), (expected, &make(None, said, &key)), "{said:?}");
    }
    let other = ChainKey::of(&ShapeKey::from_bytes([1; 32]));
    let now = make(Some(&first), &["a"], &other);
    assert_eq!((shared(&now), now), (0, make(None, &["a"], &other)));
}

#[test]
fn invalid_layer_ranges_are_ignored() {
    let shape = |layers: &[(&str, std::ops::Range<usize>)]| {
        RequestShape::builder(&KEY, "m").system_block("one two three", layers, None).build()
    };
    assert_eq!(shape(&[("a", 0..3), ("b", 2..5), ("c", 4..99)]), shape(&[("a", 0..3)]));
}

#[test]
fn diagnosis_json_has_stable_names() {
    let script = |time: &str| Script::agent().with_in("runtime", &format!("\nCurrent time: {time}\n"));
    let found = case("", script("2026-06-05T09:00:00Z"), script("2026-06-05T09:02:00Z").next())
        .provider_says("tools_changed")
        .reads(Reads::Sections(6))
        .diagnose();
    let rewritten = found.tokens_rewritten.unwrap();
    let read = found.tokens_read.unwrap();
    assert_eq!(
        serde_json::to_value(&found).unwrap(),
        json!({
            "verdict": "partial",
            "cause": "clock",
            "detail": "a clock",
            "section": "system:1",
            "layer": "runtime",
            "file": null,
            "bytes": [782, 802],
            "tokens_rewritten": rewritten,
            "tokens_uncached": null,
            "tokens_read": read,
            // $2.50 to write a million tokens, $0.20 to read them.
            "cost_usd": rewritten as f64 * 2.5 / 1e6,
            "cost_if_hit_usd": rewritten as f64 * 0.2 / 1e6,
            "advice": "move it to the turn context",
            "provider_reason": "tools_changed",
            "also": [],
            "unknown": [
                "whether adjacent text changed too: the position is exact to 64 bytes",
                "why the provider says `tools_changed`: the shapes say otherwise",
            ],
            "assumed": [],
        })
    );
}

#[test]
fn diagnosis_text_has_cause_and_advice() {
    let said = |case: super::case::Case| case.diagnose().to_string();
    let agent = Script::agent;
    assert_eq!(
        said(case("", agent(), agent().next()).first()),
        "nothing to read; the first request has nothing to read; nothing: the next request can read it"
    );
    assert_eq!(
        said(case("", agent(), agent().next()).not_seen()),
        "0 tokens read; the cause is not known; keep request shapes and usage, so that the next miss can be explained"
    );
    let mut swapped = agent().next();
    swapped.tools.swap(0, 1);
    assert_eq!(
        said(case("", agent(), swapped).reads(Reads::NotReported)),
        "the provider reported no cache numbers; the prefix diverged at tool `edit_file`: the same tools in another \
         order; send the tools in a fixed order, sorted by name"
    );
}

/// Run it with `cargo test --release -p foreword-core -- --ignored --nocapture fingerprint`.
#[test]
#[ignore = "measures; only a release build on a quiet machine tells anything"]
#[expect(clippy::disallowed_methods, reason = "a measurement needs a clock")]
fn fingerprint_of_200_kb_costs_two_blake3_passes_at_most() {
    let mut script = Script::agent();
    while script.shape().sections().iter().map(|section| section.bytes).sum::<usize>() < 200_000 {
        script = script.next();
    }
    let all: String =
        script.shape().sections().iter().filter_map(|section| script.text_of(&section.name)).collect();
    let best = |work: &dyn Fn() -> usize| {
        let times = (0..300).map(|_| {
            let start = std::time::Instant::now();
            std::hint::black_box(work());
            start.elapsed()
        });
        times.min().unwrap_or_default()
    };
    let blocks: Vec<String> = script.system.iter().map(super::script::Block::text).collect();
    let shape = best(&|| {
        let mut builder = RequestShape::builder(&KEY, "m");
        for (name, json) in &script.tools {
            builder = builder.tool(name, json.as_str());
        }
        for block in &blocks {
            builder = builder.system_block(block.as_str(), &[("first", 0..block.len() / 2)], None);
        }
        for said in &script.messages {
            builder = builder.message(&said.role, said.text.as_str(), None);
        }
        builder.build().sections().len()
    });
    let pass = best(&|| blake3::keyed_hash(&[7; 32], all.as_bytes()).as_bytes().len());
    let ratio = shape.as_secs_f64() / pass.as_secs_f64();
    println!(
        "{} bytes, {} sections: shape {shape:?}, one pass {pass:?}, ratio {ratio:.2}",
        all.len(),
        script.shape().sections().len()
    );
    assert!(ratio <= 2.0, "{ratio}");
}
