//! A database file with a damaged page: a message is answered, fails visibly, or is not accepted.

use std::fs::OpenOptions;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use foreword_agent::conversation::inbound::Inbound;
use foreword_agent::error::AgentError;
use foreword_core::id::ConversationId;
use foreword_core::turn_journal::Outcome;
use foreword_store::error::StoreError;
use foreword_store::health::StoreFault;
use foreword_testkit::Reply;

use crate::fixture::{Fixture, Setting, alice, follow};

const PAGE: usize = 4_096;

/// Overwrites the beginning of every page that holds `text`; says how many.
fn damage(path: &Path, text: &str) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let holds = |page: &[u8]| page.windows(text.len()).any(|part| part == text.as_bytes());
    let pages: Vec<usize> =
        bytes.chunks(PAGE).enumerate().filter(|(_, page)| holds(page)).map(|(number, _)| number).collect();
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    for page in &pages {
        assert!(*page > 0, "the first page is the schema's");
        file.seek(SeekFrom::Start((page * PAGE) as u64)).unwrap();
        file.write_all(&[0xff; 64]).unwrap();
    }
    pages.len()
}

fn inbound(text: &str) -> Inbound {
    let conversation = ConversationId::new("c-1").unwrap();
    Inbound { conversation, origin: alice(), text: text.to_owned(), key: None }
}

#[tokio::test]
async fn damaged_page_fails_the_message_visibly() {
    let fixture = Fixture::new([Reply::text("One.")]).await;
    fixture.say("c-1", alice(), "first").await;
    fixture.log().await;
    fixture.agent.shut_down().await;
    // Closing writes everything into the file itself.
    fixture.store.clone().close().await.unwrap();
    // The frozen prompt of the conversation, without which no turn can run.
    assert!(damage(&fixture.folder.path().join(".foreword/foreword.db"), "You are kind.") > 0);
    let node = fixture.another(Setting::default()).await;
    let receipt = node.agent.send(inbound("second")).await.unwrap();
    let seen = follow(receipt).await;
    let (outcome, why) = seen.ending();
    assert_eq!(outcome, Outcome::Failed);
    assert!(why.as_deref().is_some_and(|why| why.contains("damaged")), "{why:?}");
    assert!(node.store.health().failures().iter().any(|failure| failure.fault == StoreFault::Corrupt));
    let refused = node.agent.send(inbound("third")).await.err();
    assert!(matches!(refused, Some(AgentError::Store(StoreError::Corrupt { .. }))), "{refused:?}");
}
