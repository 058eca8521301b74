//! Decodes a file: UTF-8 without byte order mark, with `\n` line ends, so that equal text is equal bytes. Other
//! encodings are refused.

use crate::error::AccessReason;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Decodes `bytes`. Offsets in errors count from the start of the file.
pub(super) fn decode(mut bytes: Vec<u8>) -> Result<String, AccessReason> {
    let utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    let skipped = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    bytes.drain(..skipped);
    let text = String::from_utf8(bytes).map_err(|error| AccessReason::NotUtf8 {
        offset: error.utf8_error().valid_up_to() + skipped,
        utf16,
    })?;
    if let Some(offset) = text.find('\0') {
        return Err(AccessReason::NulInText { offset: offset + skipped });
    }
    Ok(with_unix_lines(text))
}

fn with_unix_lines(text: String) -> String {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_byte_order_mark_are_normalised() {
        assert_eq!(decode(b"\xef\xbb\xbfa\r\nb\rc\n\r\n".to_vec()), Ok("a\nb\nc\n\n".to_owned()));
        assert_eq!(decode("in\u{feff}side".into()), Ok("in\u{feff}side".to_owned()));
    }

    #[test]
    fn invalid_utf8_is_refused_with_its_offset() {
        assert_eq!(decode(b"ab\xff".to_vec()), Err(AccessReason::NotUtf8 { offset: 2, utf16: false }));
        assert_eq!(
            decode(b"\xef\xbb\xbfa\xe9".to_vec()),
            Err(AccessReason::NotUtf8 { offset: 4, utf16: false })
        );
        assert_eq!(decode(b"\xff\xfea\0".to_vec()), Err(AccessReason::NotUtf8 { offset: 0, utf16: true }));
        assert_eq!(decode(b"a\0b\0".to_vec()), Err(AccessReason::NulInText { offset: 1 }));
    }
}
