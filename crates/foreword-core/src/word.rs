//! Enums that are written as one word each: in the database, in JSON and on the command line alike. A word that stands
//! for nothing is an error, never a default.

/// A word that stands for nothing here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no {what}")]
pub struct UnknownWord {
    /// What was wanted.
    pub what: &'static str,
    /// What was given.
    pub word: String,
}

/// Makes enums of words: `as_str`, `Display`, `FromStr`, and the same words in JSON.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident = $what:literal { $($(#[$vdoc:meta])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The word it is written as.
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
            type Err = $crate::word::UnknownWord;

            fn from_str(word: &str) -> Result<Self, $crate::word::UnknownWord> {
                let found = Self::ALL.into_iter().find(|known| known.as_str() == word);
                found.ok_or_else(|| $crate::word::UnknownWord { what: $what, word: word.to_owned() })
            }
        }
    )*};
}
pub(crate) use words;
