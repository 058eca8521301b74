//! Validates header names, header values, and names of environment variables for keys.

/// Whether `name` is a valid HTTP header name.
///
/// ```
/// use foreword_core::provider::is_header_name;
/// assert!(is_header_name("X-Team") && !is_header_name("X-Team:"));
/// ```
#[must_use]
pub fn is_header_name(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.len() <= 256 && name.bytes().all(token)
}

/// Whether `value` is a valid header value: one line of visible characters with inner spaces.
///
/// ```
/// use foreword_core::provider::is_header_value;
/// assert!(is_header_value("Bearer abc") && !is_header_value("Bearer abc\r\nX-Admin: yes"));
/// ```
#[must_use]
pub fn is_header_value(value: &str) -> bool {
    let visible = |byte: u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\t');
    !value.is_empty() && value.trim() == value && value.len() <= 8_192 && value.bytes().all(visible)
}

/// Whether `name` is a valid name of an environment variable for a key. Upper case only, so that a key written there by
/// mistake is not mistaken for a name and shown.
///
/// ```
/// use foreword_core::provider::is_key_variable;
/// assert!(is_key_variable("OPENAI_API_KEY") && !is_key_variable("sk-proj-x"));
/// ```
#[must_use]
pub fn is_key_variable(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    !name.is_empty() && !name.as_bytes()[0].is_ascii_digit() && name.len() <= 128 && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_reject_injection() {
        for bad in ["", "X Team", "X-Team\r", "Ünit", "X:Y", "(x)"] {
            assert!(!is_header_name(bad), "{bad:?}");
        }
        for bad in ["", " x", "x ", "a\r\nb", "a\nb", "a\0b", "é"] {
            assert!(!is_header_value(bad), "{bad:?}");
        }
    }
}
