//! The signature of a webhook: an HMAC over timestamp and body with the shared secret. The timestamp prevents replays.

use foreword_core::provider::Secret;
use foreword_core::timestamp::Timestamp;
use ring::hmac;

pub(super) const HEADER: &str = "x-foreword-signature";

/// `t=<unix seconds>,v1=<hex of HMAC-SHA256 over "t.body">`.
pub(super) fn of(body: &[u8], secret: &Secret, at: Timestamp) -> String {
    let seconds = at.as_micros().div_euclid(1_000_000);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.reveal().as_bytes());
    let mut signed = hmac::Context::with_key(&key);
    signed.update(format!("{seconds}.").as_bytes());
    signed.update(body);
    let hex: String = signed.sign().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={seconds},v1={hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_matches_openssl() {
        let at = "2026-11-16T08:00:00.9Z".parse().unwrap();
        // `printf '1794816000.{"text":"hi"}' | openssl dgst -sha256 -hmac hush`
        let expected = "t=1794816000,v1=c9caa7e9fa368408447ec1ec9ab53ece646f1ce72057fb57c460470b57bec3a2";
        assert_eq!(of(br#"{"text":"hi"}"#, &Secret::new("hush"), at), expected);
    }
}
