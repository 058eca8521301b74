//! What is put on record, whatever the batches.

use foreword_agent::surroundings::Machine;
use foreword_core::id::TurnId;
use foreword_store::conversations::NewConversation;
use foreword_store::location::Location;
use proptest::prelude::*;

use super::*;

/// Something that happens, and how long nothing does behind it.
#[derive(Debug, Clone)]
enum Act {
    Say(String),
    Status,
    Rest(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => "[a-z \\u{e9}\\u{1f600}\"\\\\\n]{0,30}".prop_map(Act::Say),
        1 => Just(Act::Say("x".repeat(LONGEST_PIECE + 1))),
        1 => Just(Act::Status),
        2 => (0u64..3).prop_map(Act::Rest),
    ];
    prop::collection::vec(act, 0..60)
}

fn started(trust: Trust) -> Progress {
    let turn = TurnId::new("t-1").unwrap();
    Progress::TurnStarted { turn, messages: Vec::new(), user: None, trust, resumed: false }
}

/// What is on record and what was shown after all this has happened.
async fn recorded(acts: &[Act]) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let surroundings: Arc<dyn Surroundings> = Arc::new(Machine);
    let now = surroundings.timestamp();
    let store = Store::open(&Location::file(folder.path().join("foreword.db")), now).await.unwrap();
    let id = ConversationId::new("c-1").unwrap();
    store.create_conversation(NewConversation::new(id.clone(), "Ada", "dm", now)).await.unwrap();
    let hub = Hub::default();
    let channel = hub.channel(&id);
    let log = StreamLog::new(store.clone(), hub, surroundings);
    log.saw(&id, &started(Trust::Inner));
    for act in acts {
        match act {
            Act::Say(text) => log.saw(&id, &Progress::Text(text.clone())),
            Act::Status => log.saw(&id, &Progress::Status("Retrying...".to_owned())),
            Act::Rest(time) => tokio::time::sleep(Duration::from_millis(*time)).await,
        }
    }
    log.settled().await;
    let items = store.stream(&id, 0, 1_000).await.unwrap().items;
    assert!(items.iter().all(|item| item.trust == Trust::Inner));
    assert_eq!(channel.last(), items.len() as u64);
    let (mut shown, mut after) = (Vec::new(), 0);
    while let Some(items) = channel.kept_after(after) {
        after = items.last().unwrap().seq;
        shown.extend(items.iter().map(|item| item.text.to_string()));
    }
    (items.into_iter().map(|item| item.item).collect(), shown)
}

/// The words, with a mark where something else happened.
fn words(items: &[String]) -> String {
    let items = items.iter().map(|item| serde_json::from_str::<serde_json::Value>(item).unwrap());
    items
        .map(|item| match item["type"].as_str().unwrap() {
            "text_delta" => item["text"].as_str().unwrap().to_owned(),
            "status" => "|".to_owned(),
            _ => String::new(),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_is_gathered_what_is_read_is_what_was_said(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (items, shown) = runtime.block_on(recorded(&acts));
        let said: String = acts.iter().map(|act| match act {
            Act::Say(text) => text.clone(),
            Act::Status => "|".to_owned(),
            Act::Rest(_) => String::new(),
        }).collect();
        prop_assert_eq!(words(&items), said.clone());
        prop_assert_eq!(words(&shown), said);
    }
}

fn draft(what: Happening) -> Draft {
    Draft { trust: Trust::Full, what }
}

fn text(words: &str) -> Draft {
    draft(Happening::TextDelta { turn_id: None, text: words.to_owned() })
}

#[test]
fn when_too_much_waits_words_are_let_go_and_where_turns_end_is_not() {
    let mut lane = Lane::default();
    let piece = "x".repeat(LONGEST_PIECE);
    for _ in 0..=MOST_WAITING / LONGEST_PIECE {
        lane.add(text(&piece));
    }
    let kept = lane.waiting.len();
    assert!(lane.lost);
    let error = Happening::Error { turn_id: None, kind: "turn_left".to_owned(), message: "gone".to_owned() };
    lane.add(draft(error.clone()));
    assert_eq!(lane.waiting.len(), kept + 1);
    lane.was_away();
    assert!(!lane.lost);
    assert!(matches!(&lane.waiting[0].what, Happening::Status { message, .. } if message == WAS_LOST));
    assert_eq!(lane.waiting.back().unwrap().what, error);
    while !lane.take().is_empty() {}
    assert_eq!(lane.bytes, 0);
}

#[test]
fn what_nobody_knows_the_trust_of_is_the_owners() {
    let mut within = Within::default();
    let status = Progress::Status("the database at /home/alice is away".to_owned());
    assert_eq!(within.told(&status)[0].trust, Trust::Full);
    within.told(&started(Trust::Familiar));
    assert_eq!(within.told(&Progress::Text("hello".to_owned()))[0].trust, Trust::Familiar);
    let (turn, reason) = (TurnId::new("t-1").unwrap(), "/home/alice/foreword.db is away".to_owned().into());
    let left = within.told(&Progress::TurnLeft { turn, reason });
    let (theirs, owners): (Vec<Draft>, Vec<Draft>) =
        left.into_iter().partition(|draft| Trust::Familiar.permits(draft.trust));
    assert!(!theirs.is_empty() && !format!("{theirs:?}").contains("/home"), "{theirs:?}");
    assert!(format!("{owners:?}").contains("/home"), "{owners:?}");
    assert_eq!(within.told(&status)[0].trust, Trust::Full);
    assert_eq!(within.told(&Progress::Compacted)[0].trust, Trust::Familiar);
}
