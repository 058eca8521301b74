//! Skills in turns: listing, loading, changes, access, and reminders after a summary.

use foreword_core::id::ConversationId;
use foreword_core::provider::WireDialect;
use foreword_prompt::trust::Trust;
use foreword_testkit::{Received, Reply};
use serde_json::json;

use crate::fixture::{Fixture, alice, in_group, on};
use crate::prefix_extension::extends;
use crate::well_formed::all_well_formed;

fn c1() -> ConversationId {
    ConversationId::new("c-1").unwrap()
}

fn skill(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: How to do {name}.\n---\n{body}\n")
}

fn write(fixture: &Fixture, path: &str, text: &str) {
    let path = fixture.folder.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    fixture.workspace.refresh();
}

fn remove(fixture: &Fixture, name: &str) {
    std::fs::remove_dir_all(fixture.folder.path().join("skills").join(name)).unwrap();
    fixture.workspace.refresh();
}

fn load(name: &str) -> Reply {
    Reply::tool_call("skill_get", json!({ "name": name }))
}

fn last(fixture: &Fixture) -> Received {
    fixture.provider.requests().last().unwrap().clone()
}

#[tokio::test]
async fn skill_changes_are_announced_in_the_next_turn() {
    let replies = [load("bread"), Reply::text("Flour."), load("bread"), Reply::text("Rye."), load("bread")];
    let fixture = Fixture::new([replies.to_vec(), vec![Reply::text("Gone.")]].concat()).await;
    write(&fixture, "skills/bread/SKILL.md", &skill("bread", "Take flour."));
    let seen = fixture.say("c-1", alice(), "bake").await;
    assert_eq!(seen.results(), [("skill_get", "# bread\n\nTake flour.", false)]);
    assert!(fixture.provider.requests()[0].text().contains("How to do bread."));
    let first_system = fixture.provider.requests()[0].json()["system"].clone();

    write(&fixture, "skills/bread/SKILL.md", &skill("bread", "Take rye."));
    write(&fixture, "skills/tea/SKILL.md", &skill("tea", "Hot water."));
    let seen = fixture.say("c-1", alice(), "bake again").await;
    assert_eq!(seen.results(), [("skill_get", "# bread\n\nTake rye.", false)]);
    let model_request = fixture.provider.requests()[2].clone();
    assert!(model_request.conversation().contains("How to do tea."), "{}", model_request.conversation());
    assert!(!model_request.json()["system"].to_string().contains("How to do tea."));
    assert_eq!(model_request.json()["system"], first_system, "the cached prompt stays");

    remove(&fixture, "bread");
    let seen = fixture.say("c-1", alice(), "and again").await;
    assert_eq!(seen.results(), [("skill_get", "there is no skill `bread`: there are `tea`", true)]);
    let model_text = fixture.provider.requests()[4].conversation();
    let note = model_text.rsplit("and again").nth(1).unwrap_or_default();
    assert!(note.rsplit("Rye.").next().is_some_and(|note| note.contains("How to do tea.")), "{model_text}");
    all_well_formed(&fixture.provider.requests());
}

#[tokio::test]
async fn user_skill_is_invisible_to_others() {
    let fixture = Fixture::new([load("diary"), Reply::text("Yours.")]).await;
    write(&fixture, "users/alice/skills/diary/SKILL.md", &skill("diary", "Dear diary."));
    let seen = fixture.say("c-1", alice(), "my diary").await;
    assert_eq!(seen.results(), [("skill_get", "# diary\n\nDear diary.", false)]);
    // Bob in private, and alice and carol in the group.
    for (number, occasion) in
        [on("signal:bob"), in_group("signal:alice"), in_group("signal:carol")].into_iter().enumerate()
    {
        fixture.provider.push(load("diary"));
        fixture.provider.push(Reply::text("No."));
        let seen = fixture.say(&format!("c-other-{number}"), occasion, "her diary").await;
        assert_eq!(
            seen.results(),
            [("skill_get", "there is no skill `diary`: there are no skills here", true)]
        );
        let asked = last(&fixture).text();
        assert!(!asked.contains("How to do diary") && !asked.contains("Dear"), "{asked}");
    }
}

#[tokio::test]
async fn skill_lists_its_files_and_reports_withheld_ones() {
    let read = Reply::tool_call("read_file", json!({ "path": "skills/tea/times.md" }));
    let fixture = Fixture::new([load("tea"), read, Reply::text("Three minutes.")]).await;
    let body =
        "Times are in `times.md`, pots in [the list](pots/list.md). Not `missing.md`, not `cargo test`.";
    write(&fixture, "skills/tea/SKILL.md", &skill("tea", body));
    write(&fixture, "skills/tea/times.md", "Black tea: three minutes.");
    write(&fixture, "skills/tea/pots/list.md", "The blue one.");
    let seen = fixture.say("c-1", on("signal:bob"), "tea").await;
    let loaded = seen.results()[0].1.to_owned();
    let paths =
        "For `read_file`, `times.md` is `skills/tea/times.md`, `pots/list.md` is `skills/tea/pots/list.md`.";
    assert_eq!(loaded, format!("# tea\n\n{body}\n\n{paths}"));
    assert!(seen.results()[1].1.contains("Black tea: three minutes."), "{:?}", seen.results());
    // Without a tool to read files, the result names that.
    fixture.provider.push(load("tea"));
    fixture.provider.push(Reply::text("Well."));
    let seen = fixture.say("c-2", in_group("signal:carol"), "tea").await;
    let said = "Not to be read in this conversation: `times.md`, `pots/list.md`.";
    assert_eq!(seen.results()[0].1, format!("# tea\n\n{body}\n\n{said}"));
}

#[tokio::test]
async fn loaded_skills_are_repeated_after_a_summary() {
    for dialect in [WireDialect::Anthropic, WireDialect::OpenAi] {
        let replies =
            [load("bread"), load("old"), load("tea"), Reply::text("Ready."), Reply::text("They cook.")];
        let fixture = Fixture::with(replies, dialect, "").await;
        write(&fixture, "skills/bread/SKILL.md", &skill("bread", "Take flour."));
        write(&fixture, "skills/tea/SKILL.md", &skill("tea", "Hot water."));
        write(&fixture, "skills/old/SKILL.md", &skill("old", "Long ago."));
        fixture.say("c-1", alice(), "learn to cook").await;
        write(&fixture, "skills/bread/SKILL.md", &skill("bread", "Take rye."));
        remove(&fixture, "old");
        fixture.agent.compact(&c1(), alice()).await.unwrap();
        fixture.provider.push(Reply::text("Rye."));
        fixture.provider.push(Reply::text("Still rye."));
        fixture.say("c-1", alice(), "bake").await;
        let asked = last(&fixture).conversation();
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
        // From then on the text stays, even if the file changes.
        write(&fixture, "skills/bread/SKILL.md", &skill("bread", "Take corn."));
        fixture.say("c-1", alice(), "bake more").await;
        let requests = fixture.provider.requests();
        assert!(extends(&requests[5], &requests[6]), "{}", requests[6].text());
        all_well_formed(&requests);
        // The next summary repeats the current text.
        fixture.provider.push(Reply::text("They still cook."));
        fixture.agent.compact(&c1(), alice()).await.unwrap();
        fixture.provider.push(Reply::text("Corn."));
        fixture.say("c-1", alice(), "bake at last").await;
        let asked = last(&fixture).conversation();
        assert!(
            asked.contains("Take corn.") && asked.contains("Hot water.") && !asked.contains("`old`"),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn repeated_skills_respect_the_summary_trust() {
    let fixture = Fixture::new([load("diary"), Reply::text("Read."), Reply::text("Summed up.")]).await;
    write(&fixture, "users/bob/skills/diary/SKILL.md", &skill("diary", "Dear diary."));
    fixture.say("c-1", on("signal:bob"), "my diary").await;
    fixture.agent.compact(&c1(), on("signal:bob")).await.unwrap();
    let history = fixture.store.history(&c1()).await.unwrap();
    let summary = &history.messages[0].message;
    assert_eq!(summary.trust, Trust::Inner);
    assert!(format!("{:?}", summary.content).contains("Dear diary."));
    // A user with less trust sees neither it nor the note that names it.
    let seen = fixture.store.history_at(&c1(), Trust::Familiar).await.unwrap();
    assert!(!format!("{seen:?}").contains("diary"), "{seen:?}");
}

#[tokio::test]
async fn changed_skills_are_announced_after_a_summary() {
    let replies = ["One.", "Two.", "Summed up.", "Three."].map(Reply::text);
    let fixture = Fixture::new(replies).await;
    fixture.say("c-1", alice(), "one").await;
    write(&fixture, "SOUL.md", "You are kind and brief.");
    fixture.say("c-1", alice(), "two").await;
    let noted = fixture.provider.requests()[1].clone();
    assert!(noted.conversation().contains("kind and brief"), "{}", noted.conversation());
    assert!(!noted.json()["system"].to_string().contains("kind and brief"));
    fixture.agent.compact(&c1(), alice()).await.unwrap();
    fixture.say("c-1", alice(), "three").await;
    let after = last(&fixture);
    assert!(after.json()["system"].to_string().contains("kind and brief"), "{}", after.text());
    assert!(!after.conversation().contains("kind and brief"), "it stands in the prompt now");
    // The turn context is sent in full again, because the summary dropped it.
    let context = |request: &Received| request.conversation().matches("<turn-context>").count();
    assert_eq!((context(&fixture.provider.requests()[0]), context(&after)), (1, 1));
}
