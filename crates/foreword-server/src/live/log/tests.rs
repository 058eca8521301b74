//! Events are stored in order, however they are batched.

use foreword_agent::clock_and_rng::Machine;
use foreword_core::id::TurnId;
use foreword_store::conversations::NewConversation;
use foreword_store::location::Location;
use proptest::prelude::*;

use super::*;

/// An action of the test.
#[derive(Debug, Clone)]
enum Act {
    Say(String),
    Status,
    Rest(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => "[a-z \\u{e9}\\u{1f600}\"\\\\\n]{0,30}".prop_map(Act::Say),
        1 => Just(Act::Say("x".repeat(MAX_TEXT_BYTES + 1))),
        1 => Just(Act::Status),
        2 => (0u64..3).prop_map(Act::Rest),
    ];
    prop::collection::vec(act, 0..60)
}

fn started(trust: Trust) -> Progress {
    let turn = TurnId::new("t-1").unwrap();
    Progress::TurnStarted { turn, messages: Vec::new(), user: None, trust, resumed: false }
}

/// The stored and the published events.
async fn recorded(acts: &[Act]) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let clock_and_rng: Arc<dyn ClockAndRng> = Arc::new(Machine);
    let now = clock_and_rng.timestamp();
    let store = Store::open(&Location::file(folder.path().join("foreword.db")), now).await.unwrap();
    let id = ConversationId::new("c-1").unwrap();
    store.create_conversation(NewConversation::new(id.clone(), "Ada", "dm", now)).await.unwrap();
    let hub = Hub::default();
    let channel = hub.channel(&id);
    let log = StreamLog::new(store.clone(), hub, clock_and_rng);
    log.observe(&id, &started(Trust::Inner));
    for act in acts {
        match act {
            Act::Say(text) => log.observe(&id, &Progress::Text(text.clone())),
            Act::Status => log.observe(&id, &Progress::Status("Retrying...".to_owned())),
            Act::Rest(time) => tokio::time::sleep(Duration::from_millis(*time)).await,
        }
    }
    log.settled().await;
    let items = store.stream(&id, 0, 1_000).await.unwrap().items;
    assert!(items.iter().all(|item| item.trust == Trust::Inner));
    assert_eq!(channel.last(), items.len() as u64);
    let (mut shown, mut after) = (Vec::new(), 0);
    while let Some(items) = channel.buffered_after(after) {
        after = items.last().unwrap().seq;
        shown.extend(items.iter().map(|item| item.text.to_string()));
    }
    (items.into_iter().map(|item| item.item).collect(), shown)
}

/// The text, with a mark for each status.
fn streamed_text(items: &[String]) -> String {
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
    fn batched_events_read_back_as_sent(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (items, shown) = runtime.block_on(recorded(&acts));
        let said: String = acts.iter().map(|act| match act {
            Act::Say(text) => text.clone(),
            Act::Status => "|".to_owned(),
            Act::Rest(_) => String::new(),
        }).collect();
        prop_assert_eq!(streamed_text(&items), said.clone());
        prop_assert_eq!(streamed_text(&shown), said);
    }
}

fn draft(event: StreamEvent) -> UnnumberedEvent {
    UnnumberedEvent { trust: Trust::Full, event }
}

fn text(words: &str) -> UnnumberedEvent {
    draft(StreamEvent::TextDelta { turn_id: None, text: words.to_owned() })
}

#[test]
fn full_queue_drops_text_but_not_turn_ends() {
    let mut queue = EventQueue::default();
    let piece = "x".repeat(MAX_TEXT_BYTES);
    for _ in 0..=MAX_QUEUED_BYTES / MAX_TEXT_BYTES {
        queue.add(text(&piece));
    }
    let kept = queue.waiting.len();
    assert!(queue.dropped);
    let error =
        StreamEvent::Error { turn_id: None, kind: "turn_left".to_owned(), message: "gone".to_owned() };
    queue.add(draft(error.clone()));
    assert_eq!(queue.waiting.len(), kept + 1);
    queue.push_outage_notice();
    assert!(!queue.dropped);
    assert!(
        matches!(&queue.waiting[0].event, StreamEvent::Status { message, .. } if message == DROPPED_NOTICE)
    );
    assert_eq!(queue.waiting.back().unwrap().event, error);
    while !queue.take().is_empty() {}
    assert_eq!(queue.bytes, 0);
}

#[test]
fn events_of_unknown_trust_are_for_the_owner() {
    let mut current = CurrentTurn::default();
    let status = Progress::Status("the database at /home/alice is away".to_owned());
    assert_eq!(current.events_for(&status)[0].trust, Trust::Full);
    current.events_for(&started(Trust::Familiar));
    assert_eq!(current.events_for(&Progress::Text("hello".to_owned()))[0].trust, Trust::Familiar);
    let (turn, reason) = (TurnId::new("t-1").unwrap(), "/home/alice/foreword.db is away".to_owned().into());
    let left = current.events_for(&Progress::TurnLeft { turn, reason });
    let (theirs, owners): (Vec<UnnumberedEvent>, Vec<UnnumberedEvent>) =
        left.into_iter().partition(|draft| Trust::Familiar.permits(draft.trust));
    assert!(!theirs.is_empty() && !format!("{theirs:?}").contains("/home"), "{theirs:?}");
    assert!(format!("{owners:?}").contains("/home"), "{owners:?}");
    assert_eq!(current.events_for(&status)[0].trust, Trust::Full);
    assert_eq!(current.events_for(&Progress::Compacted)[0].trust, Trust::Familiar);
}
