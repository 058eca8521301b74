//! Parses headers in the format of OpenTelemetry's environment variables: `name=value,name=value`, values
//! percent-encoded.

use foreword_core::provider::{Secret, is_header_name, is_header_value};

use crate::error::ObserveError;

/// Parses the headers. All of them are treated as secrets.
///
/// ```
/// use foreword_observe::otlp::headers;
/// let all = headers("authorization=Bearer%20abc, x-team = harbour").unwrap();
/// assert_eq!((all[0].0.as_str(), all[0].1.reveal()), ("authorization", "Bearer abc"));
/// assert_eq!((all[1].0.as_str(), all[1].1.reveal()), ("x-team", "harbour"));
/// assert!(!headers("s3cret").unwrap_err().to_string().contains("s3cret"));
/// ```
///
/// # Errors
/// If a header is invalid. The error does not contain it.
pub fn headers(text: &str) -> Result<Vec<(String, Secret)>, ObserveError> {
    let written = text.split(',').map(str::trim).filter(|one| !one.is_empty());
    written.zip(1..).map(|(one, number)| header(one).ok_or(ObserveError::Header { number })).collect()
}

fn header(text: &str) -> Option<(String, Secret)> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim(), decoded(value.trim())?);
    let ours = ["content-type", "content-length", "host", "user-agent"];
    let free = !ours.iter().any(|ours| name.eq_ignore_ascii_case(ours));
    (is_header_name(name) && is_header_value(&value) && free).then(|| (name.to_owned(), Secret::new(value)))
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_header_is_rejected_by_number() {
        assert_eq!(headers("").unwrap().len(), 0);
        for bad in ["a", "=b", "a b=c", "a=%0d%0aX: y", "a=%zz", "a=%", "Content-Type=text/plain", "a="] {
            let refused = headers(&format!("ok=1,{bad}")).unwrap_err();
            assert_eq!(refused, ObserveError::Header { number: 2 }, "{bad}");
        }
    }
}
