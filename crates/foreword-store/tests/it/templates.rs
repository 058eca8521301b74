use foreword_store::error::StoreError;
use foreword_store::templates::NewTemplate;

use crate::contract::{contract, now};

contract! {
    #[test]
    async fn template_versions_are_numbered_and_immutable(store: TestStore) {
        assert_eq!(store.template().await.unwrap(), None);
        let first = store.add_template(NewTemplate::new("You are kind.", "alice", now())).await.unwrap();
        let mut second = NewTemplate::new("You are very kind.", "bob", now());
        second.message = Some("kinder".to_owned());
        let second = store.add_template(second).await.unwrap();
        assert_eq!((first.version, second.version), (1, 2));
        assert_eq!(store.template_version(1).await.unwrap(), first);
        assert_eq!(store.template().await.unwrap(), Some(second.clone()));
        assert_eq!(store.open_again().await.template_history().await.unwrap(), [second, first]);
    }

    #[test]
    async fn same_template_makes_no_new_version(store: TestStore) {
        let first = store.add_template(NewTemplate::new("x", "alice", now())).await.unwrap();
        assert_eq!(store.add_template(NewTemplate::new("x", "bob", now())).await.unwrap(), first);
    }

    #[test]
    async fn template_with_a_stale_version_is_refused(store: TestStore) {
        let new = |text: &str, expected| NewTemplate { expected: Some(expected), ..NewTemplate::new(text, "alice", now()) };
        store.add_template(new("one", 0)).await.unwrap();
        let error = store.add_template(new("two", 0)).await.unwrap_err();
        assert!(matches!(error, StoreError::VersionConflict { expected: 0, found: 1, .. }), "{error}");
        let second = store.add_template(new("two", 1)).await.unwrap();
        assert_eq!(store.add_template(new("two", 1)).await.unwrap(), second, "an answer that got lost is given again");
    }
}
