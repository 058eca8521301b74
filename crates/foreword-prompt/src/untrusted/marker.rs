//! The random marker of one rendering. The caller provides the random bytes.

use std::fmt;

/// An unguessable marker for one rendering: 128 bits, written as 32 hexadecimal digits.
///
/// Text from outside cannot contain it, because it did not exist when that text was written. Not `Clone`, to discourage
/// its reuse for the next rendering.
///
/// ```
/// use foreword_prompt::untrusted::Marker;
/// let marker = Marker::from_random_bytes([0xab; 16]);
/// assert_eq!(marker.as_str(), "abababababababababababababababab");
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Marker {
    hexadecimal: String,
}

impl Marker {
    /// A marker from 16 bytes of a cryptographic random source, fresh for each rendering.
    #[must_use]
    pub fn from_random_bytes(bytes: [u8; 16]) -> Self {
        Self { hexadecimal: format!("{:032x}", u128::from_be_bytes(bytes)) }
    }

    /// The 32 digits, in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.hexadecimal
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hexadecimal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_keeps_all_128_bits_in_order() {
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255];
        assert_eq!(Marker::from_random_bytes(bytes).as_str(), "000102030405060708090a0b0c0d0eff");
    }
}
