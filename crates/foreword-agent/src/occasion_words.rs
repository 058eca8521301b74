//! What people say, as the model reads it: in a place with several people with the speaker's name in front, quoted, so
//! that nobody can speak for somebody else; between two as it was said, but for marks only Foreword makes.

use foreword_core::message::{ContentBlock, NewMessage, Provenance};
use foreword_prompt::untrusted::{Marker, Origin, Untrusted, frame, plain_words, spoken};

use crate::inbound::is_shared;

/// The words of `message`, said in `situation`.
pub(crate) fn words(message: &NewMessage, situation: &str, random: u128) -> String {
    let text = text(&message.content);
    let name = message.author.as_deref().unwrap_or("somebody");
    match (message.provenance, is_shared(situation)) {
        (Provenance::Owner | Provenance::Agent, false) => text,
        (Provenance::Outside, true) => {
            let marker = Marker::from_random_bytes(random.to_be_bytes());
            frame(&[Untrusted::new(Origin::group(name), text)], &marker).as_str().to_owned()
        }
        (_, true) => spoken(name, Some(message.trust.as_str()), &text),
        (_, false) => plain_words(&text),
    }
}

/// The words of a message, as they were said.
pub(crate) fn text(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}
