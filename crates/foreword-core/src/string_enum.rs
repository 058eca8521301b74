//! Enums with one string per variant, used in the database, in JSON and on the command line. An unknown string is an
//! error, never a default.

/// An unknown value of a string enum.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not a valid {what}")]
pub struct UnknownValue {
    /// The name of the enum.
    pub what: &'static str,
    /// The given string.
    pub word: String,
}

/// Declares enums with `as_str`, `Display`, `FromStr` and serde implementations.
macro_rules! string_enum {
    ($($(#[$doc:meta])* $name:ident = $what:literal { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant,)* }

        impl $name {
            /// All variants.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The string of the variant.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::string_enum::UnknownValue;

            fn from_str(word: &str) -> Result<Self, $crate::string_enum::UnknownValue> {
                let found = Self::ALL.into_iter().find(|known| known.as_str() == word);
                found.ok_or_else(|| $crate::string_enum::UnknownValue { what: $what, word: word.to_owned() })
            }
        }
    )*};
}
pub(crate) use string_enum;
