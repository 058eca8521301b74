//! Failures whose cause only the owner can read.
//!
//! A cause names files, layers, addresses and variables. [`OwnerOnly`] has no `Display`, `Serialize` or `Deref`: the
//! text is returned only by [`OwnerOnly::reveal`], which takes an [`OwnerProof`], and only a trust check returns one. A
//! route that forgets the check does not compile:
//!
//! ```compile_fail
//! use foreword_core::failure::OwnerOnly;
//! let cause = OwnerOnly::from("no file `/srv/ada/SOUL.md`".to_owned());
//! println!("{cause}");
//! ```
//!
//! ```compile_fail
//! use foreword_core::failure::OwnerOnly;
//! let cause = OwnerOnly::from("no file `/srv/ada/SOUL.md`".to_owned());
//! serde_json::to_string(&cause).unwrap();
//! ```
//!
//! ```compile_fail
//! use foreword_core::failure::OwnerProof;
//! let forged = OwnerProof(());
//! ```

use std::borrow::Cow;
use std::fmt;

use foreword_prompt::trust::Trust;
use serde::{Deserialize, Serialize};

use crate::retry::ErrorCategory;

/// Proof that a trust check has identified the owner.
///
/// ```
/// use foreword_core::failure::OwnerProof;
/// use foreword_prompt::trust::Trust;
/// assert!(OwnerProof::of(Trust::Full).is_some());
/// assert!(OwnerProof::of(Trust::Inner).is_none());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct OwnerProof(());

impl OwnerProof {
    /// The proof, if `trust` is the owner's. Pass the reader's effective trust.
    #[must_use]
    pub fn of(trust: Trust) -> Option<Self> {
        trust.permits(Trust::Full).then_some(Self(()))
    }

    /// The proof for a process on the owner's terminal, which can read the workspace's files anyway.
    #[must_use]
    pub fn at_terminal() -> Self {
        Self(())
    }
}

/// A value that only the owner can read.
///
/// ```
/// use foreword_core::failure::{OwnerOnly, OwnerProof};
/// use foreword_prompt::trust::Trust;
///
/// let cause = OwnerOnly::from("`ANTHROPIC_API_KEY` is not set".to_owned());
/// let read = |trust| OwnerProof::of(trust).map(|proof| cause.reveal(proof).as_str());
/// assert_eq!(read(Trust::Full), Some("`ANTHROPIC_API_KEY` is not set"));
/// assert_eq!(read(Trust::Inner), None);
/// assert_eq!(format!("{cause:?}"), "OwnerOnly(..)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct OwnerOnly<T>(T);

impl<T> OwnerOnly<T> {
    /// The value, for the owner.
    #[must_use]
    pub fn reveal(&self, _proof: OwnerProof) -> &T {
        &self.0
    }

    /// The value at the reader's effective trust; `None` below the owner's.
    #[must_use]
    pub fn at(&self, trust: Trust) -> Option<&T> {
        OwnerProof::of(trust).map(|proof| self.reveal(proof))
    }

    /// The value, to be written to the store or the event log, whose readers check trust themselves. A test lists the
    /// files that may call this.
    #[must_use]
    pub fn for_record(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for OwnerOnly<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerOnly(..)")
    }
}

impl<T> From<T> for OwnerOnly<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

/// Why a turn failed: a stable code for all readers, a cause for the owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The error category, used as the code.
    pub code: ErrorCategory,
    /// A public message that replaces the default one of the code. It must not name anything of the workspace or the
    /// provider.
    pub public: Option<String>,
    /// The cause and how to fix it.
    pub detail: OwnerOnly<String>,
}

/// A failure as one reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureView {
    /// The code.
    pub code: ErrorCategory,
    /// For the owner the cause; for other readers the public message with an id to report to the owner.
    pub message: String,
}

impl Failure {
    /// A failure with the default public message of its code.
    #[must_use]
    pub fn new(code: ErrorCategory, detail: impl Into<String>) -> Self {
        Self { code, public: None, detail: OwnerOnly(detail.into()) }
    }

    /// Sets the public message.
    #[must_use]
    pub fn with_public(self, public: impl Into<String>) -> Self {
        Self { public: Some(public.into()), ..self }
    }

    /// The failure as a reader of `trust` sees it; `id` is the turn's id.
    ///
    /// ```
    /// use foreword_core::failure::Failure;
    /// use foreword_core::retry::ErrorCategory;
    /// use foreword_prompt::trust::Trust;
    ///
    /// let failure = Failure::new(ErrorCategory::ConfigError, "there is no `/srv/ada/SOUL.md`");
    /// assert_eq!(failure.visible_at(Trust::Full, "t-1").message, "there is no `/srv/ada/SOUL.md`");
    /// assert_eq!(
    ///     failure.visible_at(Trust::Inner, "t-1").message,
    ///     "the agent's configuration needs its owner's attention (`t-1`)"
    /// );
    /// ```
    #[must_use]
    pub fn visible_at(&self, trust: Trust, id: &str) -> FailureView {
        let message = match self.detail.at(trust) {
            Some(detail) => detail.clone(),
            None => format!("{} (`{id}`)", self.sentence()),
        };
        FailureView { code: self.code, message }
    }

    /// The public message.
    #[must_use]
    pub fn sentence(&self) -> &str {
        self.public.as_deref().unwrap_or_else(|| sentence(self.code))
    }

    /// Encodes the failure for the store.
    #[must_use]
    pub fn to_record(&self) -> String {
        let Self { code, public, detail: OwnerOnly(detail) } = self;
        let record = Record { code: *code, public: public.as_deref().map(Into::into), detail: detail.into() };
        // Serialising strings cannot fail.
        serde_json::to_string(&record).unwrap_or_default()
    }

    /// Decodes a stored failure. Plain text, written by older versions, is a cause without a code.
    ///
    /// ```
    /// use foreword_core::failure::Failure;
    /// use foreword_core::retry::ErrorCategory;
    ///
    /// let failure = Failure::new(ErrorCategory::Limit, "too much").with_public("a limit is reached");
    /// assert_eq!(Failure::from_record(&failure.to_record()), failure);
    /// assert_eq!(Failure::from_record("it broke"), Failure::new(ErrorCategory::InternalError, "it broke"));
    /// ```
    #[must_use]
    pub fn from_record(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(Record { code, public, detail }) => {
                let public = public.map(Cow::into_owned);
                Self { code, public, detail: OwnerOnly(detail.into_owned()) }
            }
            Err(_) => Self::new(ErrorCategory::InternalError, text),
        }
    }
}

/// The stored form of a failure.
#[derive(Serialize, Deserialize)]
struct Record<'a> {
    code: ErrorCategory,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public: Option<Cow<'a, str>>,
    detail: Cow<'a, str>,
}

/// Serde functions for a failure in the saved state of a turn. [`Failure`] itself has no `Serialize`, so that it cannot
/// end up in a response.
pub(crate) mod record {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    use super::Failure;

    pub(crate) fn serialize<S: Serializer>(failure: &Option<Failure>, to: S) -> Result<S::Ok, S::Error> {
        failure.as_ref().map(Failure::to_record).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Failure>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(|text| Failure::from_record(&text)))
    }
}

/// The default public message of a code. It says what the reader can do and reveals nothing about the cause.
fn sentence(code: ErrorCategory) -> &'static str {
    match code {
        ErrorCategory::ProviderTransient => "the model can't be reached now; try again later",
        ErrorCategory::ProviderPermanent => "the model can't answer; the agent's owner finds the reason",
        ErrorCategory::ConfigError => "the agent's configuration needs its owner's attention",
        ErrorCategory::ToolFailure => "a tool failed",
        ErrorCategory::Limit => "a limit is reached; ask for less in one message",
        ErrorCategory::InternalError => "an internal error; the agent's owner finds the reason",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_reads_the_cause() {
        let failure = Failure::new(ErrorCategory::ProviderTransient, "http://10.0.0.1:8080 refused");
        for trust in Trust::ALL {
            let shown = failure.visible_at(trust, "t-1");
            assert_eq!(shown.message.contains("10.0.0.1"), trust == Trust::Full, "{trust}");
            assert_eq!(shown.message.contains("t-1"), trust != Trust::Full, "{trust}");
            assert_eq!(shown.code, ErrorCategory::ProviderTransient);
        }
        assert!(!format!("{failure:?}").contains("10.0.0.1"));
    }
}
