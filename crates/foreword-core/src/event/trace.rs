//! Trace and span ids in OpenTelemetry's format.

use std::fmt;
use std::str::FromStr;

use foreword_prompt::text::ContentHash;
use serde::{Deserialize, Serialize};

use crate::serde_text::serde_as_text;
use crate::timestamp::Timestamp;

/// An invalid trace or span id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what}: it needs {digits} hexadecimal digits that are not all zero")]
pub struct BadTraceId {
    /// The expected kind of id.
    pub what: &'static str,
    /// The expected number of digits.
    pub digits: usize,
}

macro_rules! hex_ids {
    ($($(#[$doc:meta])* $name:ident($number:ty), $what:literal, $digits:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name($number);

        impl $name {
            /// The id with this number; `None` for zero.
            #[must_use]
            pub fn new(number: $number) -> Option<Self> {
                (number != 0).then_some(Self(number))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:0width$x}", self.0, width = $digits)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl FromStr for $name {
            type Err = BadTraceId;

            fn from_str(text: &str) -> Result<Self, BadTraceId> {
                let bad = BadTraceId { what: $what, digits: $digits };
                let all_digits = text.len() == $digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                let number = if all_digits { <$number>::from_str_radix(text, 16).ok() } else { None };
                number.and_then(Self::new).ok_or(bad)
            }
        }

        serde_as_text!($name);
    )*};
}

hex_ids! {
    /// A trace: everything done because of one message.
    ///
    /// ```
    /// use foreword_core::event::TraceId;
    /// let id: TraceId = "4bf92f3577b34da6a3ce929d0e0e4736".parse().unwrap();
    /// assert_eq!(id.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
    /// ```
    TraceId(u128), "trace id", 32;
    /// A span of a trace.
    SpanId(u64), "span id", 16;
}

impl TraceId {
    /// The trace id derived from `name`. The same name gives the same id in every process.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let bytes = *ContentHash::of(name).as_bytes();
        let half = bytes.first_chunk().copied().map_or(0, u128::from_be_bytes);
        Self::new(half)
    }

    /// A trace id derived from a unique name and a time. Ids sort by time, so that a database with thousands of inserts
    /// per second writes to few pages.
    #[must_use]
    pub fn named_at(name: &str, at: Timestamp) -> Option<Self> {
        let Self(named) = Self::named(name)?;
        let micros = u64::try_from(at.as_micros()).unwrap_or(0);
        Self::new(u128::from(micros) << 64 | named & u128::from(u64::MAX))
    }

    /// The last 16 digits of every id that [`TraceId::named_at`] makes for `name`, at any time.
    ///
    /// ```
    /// use foreword_core::event::TraceId;
    /// let trace = TraceId::named_at("req-1", "2026-11-16T08:00:00Z".parse().unwrap()).unwrap();
    /// assert!(trace.to_string().ends_with(&TraceId::name_digits("req-1")));
    /// ```
    #[must_use]
    pub fn name_digits(name: &str) -> String {
        let low = Self::named(name).map_or(0, |Self(named)| named & u128::from(u64::MAX));
        format!("{low:016x}")
    }

    /// The id of the span `name` in this trace.
    #[must_use]
    pub fn span(self, name: &str) -> Option<SpanId> {
        let bytes = *ContentHash::of(&format!("{self}/{name}")).as_bytes();
        SpanId::new(bytes.first_chunk().copied().map_or(0, u64::from_be_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_need_all_digits_and_are_nonzero() {
        assert_eq!(SpanId::new(0xab).unwrap().to_string(), "00000000000000ab");
        assert_eq!("00000000000000AB".parse(), Ok(SpanId::new(0xab).unwrap()));
        for bad in ["", "ab", "0000000000000000", "+0000000000000ab", "00000000000000ag", "é0000000000000a"]
        {
            assert!(bad.parse::<SpanId>().is_err(), "{bad}");
        }
        assert!("00f067aa0ba902b7".parse::<TraceId>().is_err());
    }

    #[test]
    fn timed_trace_ids_sort_by_time() {
        let [first, next] = [1_700_000_000_000_000, 1_700_000_000_000_001].map(Timestamp::from_micros);
        let trace = |name: &str, at: Timestamp| TraceId::named_at(name, at).unwrap();
        assert!(trace("b", first).to_string() < trace("a", next).to_string());
        assert_ne!(trace("a", first), trace("b", first));
        assert_eq!(trace("a", first), trace("a", first));
        assert!(TraceId::named_at("a", Timestamp::from_micros(-1)).is_some());
    }
}
