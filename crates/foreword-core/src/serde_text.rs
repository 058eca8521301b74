//! Serde through text, for types with `FromStr` and `Display`.

/// Implements the conversions of `#[serde(try_from = "String", into = "String")]`.
macro_rules! serde_as_text {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = <Self as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    };
}
pub(crate) use serde_as_text;
