//! A note to be kept, and the rules for it: never into a store above the turn's trust, bounded, and marked for good if
//! its words may come from outside.

use foreword_core::id::{ConversationId, ObservationId, TurnId};
use foreword_core::memory_store::MemoryStore;
use foreword_core::message::Provenance;
use foreword_core::timestamp::Timestamp;
use foreword_prompt::text::normalise_line_ends;
use foreword_prompt::trust::Trust;
use foreword_store::observations::Observation;

use super::error::MemoryError;

/// The longest title, in characters.
pub(super) const LONGEST_TITLE: usize = 200;
/// The longest text, in bytes.
pub(super) const LONGEST_TEXT: usize = 16 * 1024;
/// Digits of an id: none that is taken for another.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// How many of them an id has: few enough to be cheap to read, enough for a billion notes.
const ID_DIGITS: u32 = 12;

/// A note to be kept.
#[derive(Debug, Clone)]
pub struct NewNote {
    /// The store to keep it in.
    pub store: MemoryStore,
    /// One line that stands for it.
    pub title: String,
    /// What to remember.
    pub text: String,
    /// The trust of the turn that writes it.
    pub trust: Trust,
    /// Where the words of the turn come from, at worst.
    pub provenance: Provenance,
    /// Whether the turn has read text from outside.
    pub tainted: bool,
    /// The conversation it is from.
    pub conversation: Option<ConversationId>,
    /// The turn it is from.
    pub turn: Option<TurnId>,
    /// The user it is from, by name.
    pub author: Option<String>,
    /// When.
    pub at: Timestamp,
    /// Chance, for its id.
    pub random: u128,
}

/// A note that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its path, for `memory_get`.
    pub path: String,
    /// The store it is in.
    pub store: MemoryStore,
    /// How many bytes of text it has.
    pub bytes: usize,
    /// Whether it is kept as words from outside.
    pub from_outside: bool,
}

impl NewNote {
    /// Whether it may be kept.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check(&self) -> Result<(), MemoryError> {
        self.clone().checked().map(drop)
    }

    /// The note as it is stored, if it may be.
    pub(super) fn checked(self) -> Result<Observation, MemoryError> {
        if !self.trust.permits(self.store.needed_trust()) {
            return Err(MemoryError::AboveTrust { store: self.store, trust: self.trust });
        }
        let title = self.title.trim();
        let bad_title = |reason| Err(MemoryError::Title { reason });
        if title.is_empty() {
            return bad_title("it says nothing");
        }
        if title.chars().any(char::is_control) || title.contains(['\u{2028}', '\u{2029}']) {
            return bad_title("it has a line end or a control character");
        }
        if title.chars().nth(LONGEST_TITLE).is_some() {
            return bad_title("it is longer");
        }
        let text = normalise_line_ends(self.text.trim_end());
        let bad_text = |reason: String| Err(MemoryError::Text { reason });
        if text.trim().is_empty() {
            return bad_text("it says nothing".to_owned());
        }
        if text.contains('\0') {
            return bad_text("it has a NUL character".to_owned());
        }
        if text.len() > LONGEST_TEXT {
            return bad_text(format!("it has {}", text.len()));
        }
        let id = note_id(self.random);
        Ok(Observation {
            id: ObservationId::new(&id).map_err(|_| MemoryError::IdTaken { id })?,
            store: self.store,
            title: title.to_owned(),
            text: text.into_owned(),
            trust: self.trust,
            provenance: self.provenance,
            // Whoever looks at nothing else must see it here.
            tainted: self.tainted || !is_ours(self.provenance),
            conversation: self.conversation,
            turn: self.turn,
            author: self.author,
            at: self.at,
        })
    }
}

/// Whether a note must be shown as words of others. Only what the owner said or the agent found out by itself, in a turn
/// that had read nothing from outside, is ours.
pub(super) fn is_from_outside(note: &Observation) -> bool {
    note.tainted || !is_ours(note.provenance)
}

fn is_ours(provenance: Provenance) -> bool {
    match provenance {
        Provenance::Owner | Provenance::Agent => true,
        Provenance::User | Provenance::Outside => false,
    }
}

fn note_id(random: u128) -> String {
    let digit = |place: u32| char::from(DIGITS[usize::try_from(random >> (5 * place) & 31).unwrap_or(0)]);
    (0..ID_DIGITS).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note() -> NewNote {
        NewNote {
            store: MemoryStore::Social,
            title: "Tea".to_owned(),
            text: "Carol likes tea.".to_owned(),
            trust: Trust::Familiar,
            provenance: Provenance::Owner,
            tainted: false,
            conversation: None,
            turn: None,
            author: None,
            at: Timestamp::from_micros(0),
            random: 7,
        }
    }

    #[test]
    fn a_note_never_goes_into_a_store_above_the_turns_trust() {
        for trust in Trust::ALL {
            for store in MemoryStore::ALL {
                let checked = NewNote { store, trust, ..note() }.checked();
                assert_eq!(
                    checked.is_ok(),
                    MemoryStore::permitted(trust).contains(&store),
                    "{trust} {store}"
                );
            }
        }
    }

    #[test]
    fn words_of_others_are_marked_for_good() {
        let table = [
            (Provenance::Owner, false, false),
            (Provenance::Agent, false, false),
            (Provenance::Owner, true, true),
            (Provenance::Agent, true, true),
            (Provenance::User, false, true),
            (Provenance::User, true, true),
            (Provenance::Outside, false, true),
            (Provenance::Outside, true, true),
        ];
        for (provenance, tainted, expected) in table {
            let kept = NewNote { provenance, tainted, ..note() }.checked().unwrap();
            assert_eq!(
                (kept.tainted, is_from_outside(&kept)),
                (expected, expected),
                "{provenance:?} {tainted}"
            );
            // A row that somebody else wrote counts by both of its marks.
            let row = Observation { provenance, tainted, ..kept };
            assert_eq!(is_from_outside(&row), expected);
        }
    }

    #[test]
    fn titles_and_texts_have_limits() {
        let ok = |title: &str, text: &str| {
            NewNote { title: title.to_owned(), text: text.to_owned(), ..note() }.check().is_ok()
        };
        assert!(ok(&"ä".repeat(LONGEST_TITLE), &"x".repeat(LONGEST_TEXT)));
        for title in ["", "  ", "a\nb", "a\u{2028}b", "a\u{1b}[0m", &"x".repeat(LONGEST_TITLE + 1)] {
            assert!(!ok(title, "text"), "{title:?}");
        }
        for text in ["", " \n ", "a\0b", &"x".repeat(LONGEST_TEXT + 1)] {
            assert!(!ok("title", text));
        }
    }

    #[test]
    fn an_id_is_short_and_takes_all_its_digits_from_chance() {
        assert_eq!(note_id(0), "000000000000");
        assert_eq!(note_id(u128::MAX), "zzzzzzzzzzzz");
        assert_ne!(note_id(1 << 59), note_id(0));
    }
}
