//! What people say, as the model reads it: with the speaker's name in front, quoted, so that nobody can speak for somebody
//! else. Only the owner's words in private stand as they were said: whatever is not quoted is the owner's, whoever else
//! spoke in the same conversation before.

use foreword_core::message::{ContentBlock, NewMessage, Provenance};
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::{Marker, Origin, Untrusted, frame, spoken};

use crate::inbound::{Occasion, Purpose, is_shared};
use crate::saved::SavedOccasion;

/// The words of `message`, said in `situation`.
pub(crate) fn words(message: &NewMessage, situation: &str, random: u128) -> String {
    let text = text(&message.content);
    let name = message.author.as_deref().unwrap_or("somebody");
    match (message.provenance, is_shared(situation)) {
        (Provenance::Owner | Provenance::Agent, false) => text,
        // The owner's workflow speaks, and has framed whatever it quotes from outside.
        (Provenance::Outside, false) if is_step(message) && message.trust == Trust::Full => text,
        (Provenance::Outside, true) => {
            let marker = Marker::from_random_bytes(random.to_be_bytes());
            frame(&[Untrusted::new(Origin::group(name), text)], &marker).as_str().to_owned()
        }
        _ => spoken(name, Some(message.trust.as_str()), &text),
    }
}

/// Whether the message is a step of a workflow.
fn is_step(message: &NewMessage) -> bool {
    let occasion = SavedOccasion::in_message(&message.content).map(Occasion::from);
    occasion.is_some_and(|occasion| matches!(occasion.purpose, Purpose::Workflow { .. }))
}

/// The words of a message, as they were said.
pub(crate) fn text(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}
