use foreword_store::error::StoreError;
use foreword_store::templates::NewTemplate;

use crate::contract::{contract, now};

contract! {
    #[test]
    async fn a_template_is_stored_as_numbered_versions_that_never_change(store: TestStore) {
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
    async fn the_same_template_again_is_no_new_version(store: TestStore) {
        let first = store.add_template(NewTemplate::new("x", "alice", now())).await.unwrap();
        assert_eq!(store.add_template(NewTemplate::new("x", "bob", now())).await.unwrap(), first);
    }

    #[test]
    async fn a_template_that_replaces_another_version_than_it_thinks_is_refused(store: TestStore) {
        let new = |text: &str, expected| NewTemplate { expected: Some(expected), ..NewTemplate::new(text, "alice", now()) };
        store.add_template(new("one", 0)).await.unwrap();
        let error = store.add_template(new("two", 0)).await.unwrap_err();
        assert!(matches!(error, StoreError::VersionConflict { expected: 0, found: 1, .. }), "{error}");
        let second = store.add_template(new("two", 1)).await.unwrap();
        assert_eq!(store.add_template(new("two", 1)).await.unwrap(), second, "an answer that got lost is given again");
    }
}
