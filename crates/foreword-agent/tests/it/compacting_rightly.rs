//! What a summary must never be, whose window counts, when none is begun, and that nobody's words are lost over it.

use foreword_core::provider::WireDialect;
use foreword_testkit::{Reply, Script};
use serde_json::json;

use crate::compacting_by_itself::c1;
use crate::scene::{Scene, alice};

/// An answer to a request for a summary that is none, and what is said of it.
fn no_summaries() -> [(Reply, &'static str); 3] {
    let notes = || Reply::text("Let me check the notes first.");
    [
        (notes().and_tool_call("memory_search", json!({ "query": "harbour" })), "asked for a tool"),
        (Reply::text("They spoke of the").stopped("max_tokens"), "`max_output`"),
        (Reply::text("They spoke of").stopped("pause_turn"), "`pause_turn`"),
    ]
}

#[tokio::test]
async fn a_wish_for_a_tool_or_half_an_answer_is_no_summary_and_changes_nothing() {
    for (reply, said) in no_summaries() {
        let script = Script::from([Reply::text("Noted.")]).then_always(reply);
        let scene = Scene::with(script, WireDialect::Anthropic, "").await;
        scene.say("c-1", alice(), "remember the harbour").await;
        let before = scene.store.history(&c1()).await.unwrap();
        let error = scene.agent.compact(&c1(), alice()).await.unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("another model"), "{error}");
        assert_eq!(scene.store.history(&c1()).await.unwrap(), before);
        assert!(!scene.event_names().await.contains(&"session_compacted".to_owned()));
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_not_paid_for_again() {
    let script = Script::from([Reply::text("Noted.")]).then_always(Reply::text("They").stopped("max_tokens"));
    let scene = Scene::with(script, WireDialect::Anthropic, "").await;
    scene.say("c-1", alice(), "remember the harbour").await;
    scene.agent.compact(&c1(), alice()).await.unwrap_err();
    assert_eq!(scene.provider.requests().len(), 2, "it would be cut off again at the same place");
}
