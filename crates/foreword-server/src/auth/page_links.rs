//! One-time links to the web page. The hash of a link's code is kept in memory for an hour; the first request with the
//! code gets a token.

use std::time::Duration;

use foreword_core::timestamp::Timestamp;
use parking_lot::Mutex;

use super::credential::{Credential, PREFIX};
use super::token_spec::TokenSpec;

const LINK_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// The maximum number of unused links; the oldest is removed.
const MAX_LINKS: usize = 100;
/// The name of tokens made by a link. They are revoked at sign-out.
pub(crate) const LINK_TOKEN_NAME: &str = "page link";

/// The unused links.
#[derive(Debug, Default)]
pub(crate) struct PageLinks(Mutex<Vec<PageLink>>);

#[derive(Debug)]
struct PageLink {
    digest: blake3::Hash,
    until: Timestamp,
    spec: TokenSpec,
}

impl PageLinks {
    /// Adds a link, for a token made by `spec`. Returns its code.
    pub(crate) fn add(&self, random: [u8; 32], spec: TokenSpec, now: Timestamp) -> String {
        let code = Credential::from_random(random);
        let mut links = self.0.lock();
        if links.len() >= MAX_LINKS {
            links.remove(0);
        }
        links.push(PageLink { digest: code.digest(), until: now.plus(LINK_LIFETIME), spec });
        code.reveal().trim_start_matches(PREFIX).to_owned()
    }

    /// Redeems a code.
    pub(crate) fn take(&self, code: &str, now: Timestamp) -> Option<TokenSpec> {
        let digest = Credential::read(&format!("{PREFIX}{code}"))?.digest();
        let mut links = self.0.lock();
        links.retain(|link| link.until > now);
        let at = links.iter().position(|link| link.digest == digest)?;
        Some(links.remove(at).spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_works_once_and_expires() {
        let links = PageLinks::default();
        let now: Timestamp = "2026-11-16T08:00:00Z".parse().unwrap();
        let later = |minutes: u64| now.plus(Duration::from_secs(minutes * 60));
        let one = links.add([1; 32], TokenSpec::default(), now);
        let other = links.add([2; 32], TokenSpec::default(), now);
        assert!(links.take("nothing", now).is_none());
        assert!(links.take(&one, later(59)).is_some());
        assert!(links.take(&one, later(59)).is_none());
        assert!(links.take(&other, later(61)).is_none());
    }
}
