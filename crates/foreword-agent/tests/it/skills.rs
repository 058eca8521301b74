//! Skills through turns: listed, loaded, changed while a conversation runs, kept to their user, and said again when the
//! part of the history they were loaded in is replaced by a summary.

use foreword_core::id::ConversationId;
use foreword_core::provider::WireDialect;
use foreword_prompt::trust::Trust;
use foreword_testkit::{Received, Reply};
use serde_json::json;

use crate::extending::extends;
use crate::scene::{Scene, alice, in_group, on};
use crate::well_formed::all_well_formed;

fn c1() -> ConversationId {
    ConversationId::new("c-1").unwrap()
}

fn skill(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: How to do {name}.\n---\n{body}\n")
}

fn write(scene: &Scene, path: &str, text: &str) {
    let path = scene.folder.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    scene.workspace.refresh();
}

fn remove(scene: &Scene, name: &str) {
    std::fs::remove_dir_all(scene.folder.path().join("skills").join(name)).unwrap();
    scene.workspace.refresh();
}

fn load(name: &str) -> Reply {
    Reply::tool_call("skill_get", json!({ "name": name }))
}

fn last(scene: &Scene) -> Received {
    scene.provider.requests().last().unwrap().clone()
}

#[tokio::test]
async fn what_is_added_changed_and_removed_is_told_in_the_next_turn_and_loaded_as_it_is_now() {
    let replies = [load("bread"), Reply::text("Flour."), load("bread"), Reply::text("Rye."), load("bread")];
    let scene = Scene::new([replies.to_vec(), vec![Reply::text("Gone.")]].concat()).await;
    write(&scene, "skills/bread/SKILL.md", &skill("bread", "Take flour."));
    let seen = scene.say("c-1", alice(), "bake").await;
    assert_eq!(seen.results(), [("skill_get", "# bread\n\nTake flour.", false)]);
    assert!(scene.provider.requests()[0].text().contains("How to do bread."));
    let first_system = scene.provider.requests()[0].json()["system"].clone();

    write(&scene, "skills/bread/SKILL.md", &skill("bread", "Take rye."));
    write(&scene, "skills/tea/SKILL.md", &skill("tea", "Hot water."));
    let seen = scene.say("c-1", alice(), "bake again").await;
    assert_eq!(seen.results(), [("skill_get", "# bread\n\nTake rye.", false)]);
    let told = scene.provider.requests()[2].clone();
    assert!(told.conversation().contains("How to do tea."), "{}", told.conversation());
    assert!(!told.json()["system"].to_string().contains("How to do tea."));
    assert_eq!(told.json()["system"], first_system, "the cached prompt stays");

    remove(&scene, "bread");
    let seen = scene.say("c-1", alice(), "and again").await;
    assert_eq!(seen.results(), [("skill_get", "there is no skill `bread`: there are `tea`", true)]);
    let told = scene.provider.requests()[4].conversation();
    let note = told.rsplit("and again").nth(1).unwrap_or_default();
    assert!(note.rsplit("Rye.").next().is_some_and(|note| note.contains("How to do tea.")), "{told}");
    all_well_formed(&scene.provider.requests());
}

#[tokio::test]
async fn a_users_own_skill_is_for_that_user_alone_and_not_to_be_guessed() {
    let scene = Scene::new([load("diary"), Reply::text("Yours.")]).await;
    write(&scene, "users/alice/skills/diary/SKILL.md", &skill("diary", "Dear diary."));
    let seen = scene.say("c-1", alice(), "my diary").await;
    assert_eq!(seen.results(), [("skill_get", "# diary\n\nDear diary.", false)]);
    // Bob by himself, and Alice and Carol where others listen.
    for (number, occasion) in
        [on("signal:bob"), in_group("signal:alice"), in_group("signal:carol")].into_iter().enumerate()
    {
        scene.provider.push(load("diary"));
        scene.provider.push(Reply::text("No."));
        let seen = scene.say(&format!("c-other-{number}"), occasion, "her diary").await;
        assert_eq!(
            seen.results(),
            [("skill_get", "there is no skill `diary`: there are no skills here", true)]
        );
        let asked = last(&scene).text();
        assert!(!asked.contains("How to do diary") && !asked.contains("Dear"), "{asked}");
    }
}

#[tokio::test]
async fn files_a_skill_mentions_are_named_as_they_are_read_and_what_is_withheld_is_said() {
    let read = Reply::tool_call("read_file", json!({ "path": "skills/tea/times.md" }));
    let scene = Scene::new([load("tea"), read, Reply::text("Three minutes.")]).await;
    let body =
        "Times are in `times.md`, pots in [the list](pots/list.md). Not `missing.md`, not `cargo test`.";
    write(&scene, "skills/tea/SKILL.md", &skill("tea", body));
    write(&scene, "skills/tea/times.md", "Black tea: three minutes.");
    write(&scene, "skills/tea/pots/list.md", "The blue one.");
    let seen = scene.say("c-1", on("signal:bob"), "tea").await;
    let loaded = seen.results()[0].1.to_owned();
    let paths =
        "For `read_file`, `times.md` is `skills/tea/times.md`, `pots/list.md` is `skills/tea/pots/list.md`.";
    assert_eq!(loaded, format!("# tea\n\n{body}\n\n{paths}"));
    assert!(seen.results()[1].1.contains("Black tea: three minutes."), "{:?}", seen.results());
    // Whoever has no tool to read them with is told.
    scene.provider.push(load("tea"));
    scene.provider.push(Reply::text("Well."));
    let seen = scene.say("c-2", in_group("signal:carol"), "tea").await;
    let said = "Not to be read in this conversation: `times.md`, `pots/list.md`.";
    assert_eq!(seen.results()[0].1, format!("# tea\n\n{body}\n\n{said}"));
}

#[tokio::test]
async fn what_was_loaded_is_said_again_behind_the_summary_as_it_is_now() {
    for dialect in [WireDialect::Anthropic, WireDialect::OpenAi] {
        let replies =
            [load("bread"), load("old"), load("tea"), Reply::text("Ready."), Reply::text("They cook.")];
        let scene = Scene::with(replies, dialect, "").await;
        write(&scene, "skills/bread/SKILL.md", &skill("bread", "Take flour."));
        write(&scene, "skills/tea/SKILL.md", &skill("tea", "Hot water."));
        write(&scene, "skills/old/SKILL.md", &skill("old", "Long ago."));
        scene.say("c-1", alice(), "learn to cook").await;
        write(&scene, "skills/bread/SKILL.md", &skill("bread", "Take rye."));
        remove(&scene, "old");
        scene.agent.compact(&c1(), alice()).await.unwrap();
        scene.provider.push(Reply::text("Rye."));
        scene.provider.push(Reply::text("Still rye."));
        scene.say("c-1", alice(), "bake").await;
        let asked = last(&scene).conversation();
        let places = [
            "They cook.",
            "as they are written now",
            "# tea",
            "# bread",
            "Take rye.",
            "there any more: `old`",
            "bake",
        ]
        .map(|words| asked.find(words).unwrap_or_else(|| panic!("{words} in {asked}")));
        assert!(places.is_sorted(), "{places:?} {asked}");
        assert!(!asked.contains("Take flour.") && !asked.contains("Long ago."), "{asked}");
        // From then on it stays as it was said, whatever becomes of the file.
        write(&scene, "skills/bread/SKILL.md", &skill("bread", "Take corn."));
        scene.say("c-1", alice(), "bake more").await;
        let requests = scene.provider.requests();
        assert!(extends(&requests[5], &requests[6]), "{}", requests[6].text());
        all_well_formed(&requests);
        // And the next summary says it once more, as it is then.
        scene.provider.push(Reply::text("They still cook."));
        scene.agent.compact(&c1(), alice()).await.unwrap();
        scene.provider.push(Reply::text("Corn."));
        scene.say("c-1", alice(), "bake at last").await;
        let asked = last(&scene).conversation();
        assert!(
            asked.contains("Take corn.") && asked.contains("Hot water.") && !asked.contains("`old`"),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn what_is_said_again_is_never_above_the_trust_of_the_summary() {
    let scene = Scene::new([load("diary"), Reply::text("Read."), Reply::text("Summed up.")]).await;
    write(&scene, "users/bob/skills/diary/SKILL.md", &skill("diary", "Dear diary."));
    scene.say("c-1", on("signal:bob"), "my diary").await;
    scene.agent.compact(&c1(), on("signal:bob")).await.unwrap();
    let history = scene.store.history(&c1()).await.unwrap();
    let summary = &history.messages[0].message;
    assert_eq!(summary.trust, Trust::Inner);
    assert!(format!("{:?}", summary.content).contains("Dear diary."));
    // Somebody who is trusted with less sees nothing of it, nor of the note that names it.
    let seen = scene.store.history_at(&c1(), Trust::Familiar).await.unwrap();
    assert!(!format!("{seen:?}").contains("diary"), "{seen:?}");
}

#[tokio::test]
async fn what_had_changed_since_the_conversation_began_is_known_after_the_summary_too() {
    let replies = ["One.", "Two.", "Summed up.", "Three."].map(Reply::text);
    let scene = Scene::new(replies).await;
    scene.say("c-1", alice(), "one").await;
    write(&scene, "SOUL.md", "You are kind and brief.");
    scene.say("c-1", alice(), "two").await;
    let noted = scene.provider.requests()[1].clone();
    assert!(noted.conversation().contains("kind and brief"), "{}", noted.conversation());
    assert!(!noted.json()["system"].to_string().contains("kind and brief"));
    scene.agent.compact(&c1(), alice()).await.unwrap();
    scene.say("c-1", alice(), "three").await;
    let after = last(&scene);
    assert!(after.json()["system"].to_string().contains("kind and brief"), "{}", after.text());
    assert!(!after.conversation().contains("kind and brief"), "it stands in the prompt now");
    // The turn's context is told whole again, for the model has forgotten it.
    let context = |request: &Received| request.conversation().matches("<turn-context>").count();
    assert_eq!((context(&scene.provider.requests()[0]), context(&after)), (1, 1));
}
