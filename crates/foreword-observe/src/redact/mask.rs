//! The replacement of a secret: `[REDACTED]` with a short tag that distinguishes secrets. The tag is a keyed hash:
//! without the key it reveals nothing about the value.

/// The mask.
pub(super) const MASK: &str = "[REDACTED]";
/// The tag of a shorter value would make guessing easier.
const MIN_TAGGED_LEN: usize = 8;
const TAG_DIGITS: usize = 4;

/// Creates masks. Masks with the same key are comparable.
#[derive(Debug, Clone)]
pub(super) struct Masker([u8; 32]);

impl Masker {
    pub(super) fn new(salt: [u8; 16]) -> Self {
        Self(blake3::derive_key("foreword 2026 mask of a secret", &salt))
    }

    /// Appends the mask of `value` to `out`.
    pub(super) fn push(&self, out: &mut String, value: &str) {
        out.push_str(MASK);
        if value.len() >= MIN_TAGGED_LEN {
            let hash = blake3::keyed_hash(&self.0, value.as_bytes()).to_hex();
            out.push('#');
            out.push_str(&hash[..TAG_DIGITS]);
        }
    }

    /// The mask of `value`; a mask is returned unchanged.
    pub(super) fn mask(&self, value: &str) -> String {
        if is_mask(value) {
            return value.to_owned();
        }
        let mut out = String::with_capacity(MASK.len() + 1 + TAG_DIGITS);
        self.push(&mut out, value);
        out
    }
}

/// Whether `text` is exactly one mask.
pub(super) fn is_mask(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(MASK) else { return false };
    rest.is_empty() || rest.strip_prefix('#').is_some_and(is_tag)
}

fn is_tag(text: &str) -> bool {
    text.len() == TAG_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The end of the mask that starts at `at`, if there is one.
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
    fn masks_differ_by_value_and_key() {
        let masker = Masker::new([1; 16]);
        let mask = masker.mask("correct horse");
        assert!(is_mask(&mask) && mask.len() == MASK.len() + 5, "{mask}");
        assert_eq!(mask, masker.mask("correct horse"));
        assert_ne!(mask, masker.mask("battery staple"));
        assert_ne!(mask, Masker::new([2; 16]).mask("correct horse"));
        assert_eq!(masker.mask(&mask), mask);
    }

    #[test]
    fn short_value_has_no_tag() {
        assert_eq!(Masker::new([1; 16]).mask("hunter2"), MASK);
    }

    #[test]
    fn partial_mask_is_not_a_mask() {
        for (text, whole) in [("[REDACTED]", true), ("[REDACTED]#12ab", true), ("[REDACTED]#12xy", false)] {
            assert_eq!(is_mask(text), whole, "{text}");
        }
        assert!(!is_mask("[REDACTED]hunter2") && !is_mask("[REDACTED]#12ab3"));
        assert_eq!(mask_at("x [REDACTED]#12ab3", 2), Some(17));
        assert_eq!(mask_at("x [REDACTED]hunter2", 2), Some(12));
    }
}
