//! What stands where a secret stood: `[REDACTED]`, and behind it a short tag by which one secret can be told from another.
//! The tag is of a keyed hash: without the key it says nothing of the value.

/// The word everybody looks for.
pub(super) const MASK: &str = "[REDACTED]";
/// A tag would help to guess a shorter value by trying.
const SHORTEST_TAGGED: usize = 8;
const TAG_DIGITS: usize = 4;

/// Makes masks that are comparable with those of the same key.
#[derive(Debug, Clone)]
pub(super) struct Masker([u8; 32]);

impl Masker {
    pub(super) fn new(salt: [u8; 16]) -> Self {
        Self(blake3::derive_key("foreword 2026 mask of a secret", &salt))
    }

    /// Adds the mask of `value` to `out`.
    pub(super) fn push(&self, out: &mut String, value: &str) {
        out.push_str(MASK);
        if value.len() >= SHORTEST_TAGGED {
            let hash = blake3::keyed_hash(&self.0, value.as_bytes()).to_hex();
            out.push('#');
            out.push_str(&hash[..TAG_DIGITS]);
        }
    }

    /// The mask of `value`; what is a mask already stays the one it is.
    pub(super) fn mask(&self, value: &str) -> String {
        if is_mask(value) {
            return value.to_owned();
        }
        let mut out = String::with_capacity(MASK.len() + 1 + TAG_DIGITS);
        self.push(&mut out, value);
        out
    }
}

/// Whether all of `text` is one mask.
pub(super) fn is_mask(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(MASK) else { return false };
    rest.is_empty() || rest.strip_prefix('#').is_some_and(is_tag)
}

fn is_tag(text: &str) -> bool {
    text.len() == TAG_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Where the mask that begins at `at` ends, if one does.
pub(super) fn mask_at(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?.strip_prefix(MASK)?;
    let end = at + MASK.len();
    let tag = rest.strip_prefix('#').and_then(|tag| tag.get(..TAG_DIGITS)).filter(|tag| is_tag(tag));
    Some(tag.map_or(end, |tag| end + 1 + tag.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_has_the_same_mask_and_another_one_another_and_so_under_another_key() {
        let masker = Masker::new([1; 16]);
        let mask = masker.mask("correct horse");
        assert!(is_mask(&mask) && mask.len() == MASK.len() + 5, "{mask}");
        assert_eq!(mask, masker.mask("correct horse"));
        assert_ne!(mask, masker.mask("battery staple"));
        assert_ne!(mask, Masker::new([2; 16]).mask("correct horse"));
        assert_eq!(masker.mask(&mask), mask);
    }

    #[test]
    fn a_value_that_could_be_guessed_has_no_tag() {
        assert_eq!(Masker::new([1; 16]).mask("hunter2"), MASK);
    }

    #[test]
    fn only_a_whole_mask_is_one() {
        for (text, whole) in [("[REDACTED]", true), ("[REDACTED]#12ab", true), ("[REDACTED]#12xy", false)] {
            assert_eq!(is_mask(text), whole, "{text}");
        }
        assert!(!is_mask("[REDACTED]hunter2") && !is_mask("[REDACTED]#12ab3"));
        assert_eq!(mask_at("x [REDACTED]#12ab3", 2), Some(17));
        assert_eq!(mask_at("x [REDACTED]hunter2", 2), Some(12));
    }
}
