//! What people say, as the model reads it: with the speaker's name in front, quoted, so that nobody can speak for somebody
//! else. Only the owner's words in private stand as they were said: whatever is not quoted is the owner's, whoever else
//! spoke in the same conversation before.

use foreword_core::message::{ContentBlock, NewMessage, Provenance};
use foreword_prompt::untrusted::{Marker, Origin, Untrusted, frame, spoken};

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
        _ => spoken(name, Some(message.trust.as_str()), &text),
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
