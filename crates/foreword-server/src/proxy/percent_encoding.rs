//! Percent-decoding.

use std::borrow::Cow;

/// Decodes `%2F` to `/` and so on. Keeps a percent sign without two hexadecimal digits.
pub(crate) fn decode(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'%') {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        let escaped = match behind {
            [high, low, after @ ..] if *first == b'%' => {
                digit(*high).zip(digit(*low)).map(|(high, low)| ((high << 4) | low, after))
            }
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*first, behind));
        out.push(byte);
        rest = after;
    }
    Cow::Owned(out)
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_once() {
        for (text, expected) in [
            ("plain", "plain"),
            ("meta-llama%2Fllama%3afree", "meta-llama/llama:free"),
            ("%252f", "%2f"),
            ("100%", "100%"),
            ("%zz%4", "%zz%4"),
        ] {
            assert_eq!(&*decode(text.as_bytes()), expected.as_bytes());
        }
    }
}
