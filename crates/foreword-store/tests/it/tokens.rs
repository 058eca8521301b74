use std::time::Duration;

use foreword_core::api_token::{ProxyMode, Scope, TokenHash, TokenLimits};
use foreword_core::id::TokenId;
use foreword_store::changes::StoreChange;
use foreword_store::error::StoreError;
use foreword_store::tokens::NewToken;

use crate::contract::{contract, now};

const SECOND: Duration = Duration::from_secs(1);

fn hash(name: &str) -> TokenHash {
    TokenHash::new(format!("hash-of-{name}"))
}

fn new(id: &str) -> NewToken {
    NewToken {
        id: TokenId::new(id).unwrap(),
        hash: hash(id),
        name: "laptop".to_owned(),
        user: "alice".to_owned(),
        scopes: [Scope::Chat, Scope::Assert].into(),
        mode: Some(ProxyMode::Prepend),
        created_at: now(),
        expires_at: None,
        limits: TokenLimits { usd_per_day: Some(2.5), ..TokenLimits::default() },
    }
}

contract! {
    #[test]
    async fn token_is_found_by_its_hash_only(store: TestStore) {
        let added = store.add_token(new("one")).await.unwrap();
        assert_eq!((added.user.as_str(), added.mode), ("alice", Some(ProxyMode::Prepend)));
        assert_eq!(added.scopes, [Scope::Chat, Scope::Assert].into());
        assert_eq!(added.limits.usd_per_day, Some(2.5));
        let again = store.open_again().await;
        assert_eq!(again.usable_token(&hash("one"), now()).await.unwrap(), Some(added));
        for wrong in ["hash-of-on", "hash-of-one ", "HASH-OF-ONE", "", "%", "one"] {
            assert_eq!(again.usable_token(&TokenHash::new(wrong), now()).await.unwrap(), None, "{wrong}");
        }
    }

    #[test]
    async fn no_hash_is_ever_printed(store: TestStore) {
        let token = new("one");
        assert!(!format!("{token:?}").contains("hash-of"), "{token:?}");
        let added = store.add_token(token).await.unwrap();
        assert!(!format!("{added:?}").contains("hash-of"), "{added:?}");
        let mut same_hash = new("two");
        same_hash.hash = hash("one");
        for taken in [new("one"), same_hash] {
            let error = store.add_token(taken).await.unwrap_err();
            assert!(matches!(error, StoreError::UsedBefore { .. }), "{error}");
            assert!(!format!("{error} {error:?}").contains("hash-of"), "{error:?}");
        }
        assert_eq!(store.tokens().await.unwrap(), [added]);
    }

    #[test]
    async fn expired_token_is_invalid(store: TestStore) {
        let mut short = new("one");
        short.expires_at = Some(now().plus(SECOND));
        store.add_token(short).await.unwrap();
        assert!(store.usable_token(&hash("one"), now()).await.unwrap().is_some());
        assert_eq!(store.usable_token(&hash("one"), now().plus(SECOND)).await.unwrap(), None);
        assert_eq!(store.tokens().await.unwrap().len(), 1);
    }

    #[test]
    async fn revoking_again_keeps_the_first_time(store: TestStore) {
        let mut changes = store.changes();
        let id = store.add_token(new("one")).await.unwrap().id;
        let first = store.revoke_token(&id, now()).await.unwrap();
        assert_eq!(first.validity.revoked_at, Some(now()));
        assert_eq!(store.revoke_token(&id, now().plus(SECOND)).await.unwrap(), first);
        for time in [now().minus(SECOND), now(), now().plus(SECOND)] {
            assert_eq!(store.usable_token(&hash("one"), time).await.unwrap(), None);
        }
        for _ in 0..2 {
            assert_eq!(changes.recv().await.unwrap(), StoreChange::Tokens);
        }
        let error = store.revoke_token(&"nothing".parse().unwrap(), now()).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "token", .. }), "{error}");
    }

    #[test]
    async fn last_use_of_a_token_never_decreases(store: TestStore) {
        let id = store.add_token(new("one")).await.unwrap().id;
        for (time, expected) in [(now(), now()), (now().plus(SECOND), now().plus(SECOND)), (now(), now().plus(SECOND))] {
            store.touch_token(&id, time).await.unwrap();
            assert_eq!(store.tokens().await.unwrap()[0].last_used_at, Some(expected));
        }
    }

    #[test]
    async fn tokens_are_listed_the_oldest_first(store: TestStore) {
        for (id, after) in [("b", 1), ("c", 2), ("a", 0)] {
            let mut token = new(id);
            token.created_at = now().plus(SECOND * after);
            token.mode = None;
            store.add_token(token).await.unwrap();
        }
        let ids: Vec<String> = store.tokens().await.unwrap().iter().map(|token| token.id.to_string()).collect();
        assert_eq!(ids, ["a", "b", "c"]);
    }
}
