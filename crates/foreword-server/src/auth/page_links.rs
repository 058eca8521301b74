//! Links to the page that open it once. The code in one is kept here as a hash and for a while; whoever comes with it first
//! gets a token of their own, and nobody after them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use foreword_core::timestamp::Timestamp;

use super::credential::{Credential, PREFIX};
use super::issuing::TokenWish;

/// How long a link can be used.
const OPEN_FOR: Duration = Duration::from_secs(60 * 60);
/// How many wait to be used; the oldest goes.
const MOST: usize = 100;
/// What the token is called that a link was changed for. It goes when its user signs out.
pub(crate) const LINKED: &str = "page link";

/// The links that wait to be used.
#[derive(Debug, Default)]
pub(crate) struct PageLinks(Mutex<Vec<Waiting>>);

#[derive(Debug)]
struct Waiting {
    digest: blake3::Hash,
    until: Timestamp,
    wish: TokenWish,
}

impl PageLinks {
    /// The code of a new link, for a token as `wish` says.
    pub(crate) fn add(&self, random: [u8; 32], wish: TokenWish, now: Timestamp) -> String {
        let code = Credential::from_random(random);
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= MOST {
            waiting.remove(0);
        }
        waiting.push(Waiting { digest: code.digest(), until: now.plus(OPEN_FOR), wish });
        code.reveal().trim_start_matches(PREFIX).to_owned()
    }

    /// What the code stands for. It stands for nothing afterwards.
    pub(crate) fn take(&self, code: &str, now: Timestamp) -> Option<TokenWish> {
        let digest = Credential::read(&format!("{PREFIX}{code}"))?.digest();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|link| link.until > now);
        let at = waiting.iter().position(|link| link.digest == digest)?;
        Some(waiting.remove(at).wish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_opens_once_and_not_for_ever() {
        let links = PageLinks::default();
        let now: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
        let later = |minutes: u64| now.plus(Duration::from_secs(minutes * 60));
        let one = links.add([1; 32], TokenWish::default(), now);
        let other = links.add([2; 32], TokenWish::default(), now);
        assert!(links.take("nothing", now).is_none());
        assert!(links.take(&one, later(59)).is_some());
        assert!(links.take(&one, later(59)).is_none());
        assert!(links.take(&other, later(61)).is_none());
    }
}
