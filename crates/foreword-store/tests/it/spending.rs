use foreword_core::id::TokenId;
use foreword_core::money::Money;

use crate::contract::contract;

fn spent(token: &str, dollars: f64) -> (TokenId, Money) {
    (TokenId::new(token).unwrap(), Money::from_dollars(dollars))
}

contract! {
    #[test]
    async fn daily_spending_adds_up_across_nodes(store: TestStore) {
        let other = store.open_again().await;
        store.add_spending("2026-11-16", vec![spent("one", 0.5), spent("two", 1.0)]).await.unwrap();
        let all = other.add_spending("2026-11-16", vec![spent("one", 0.25)]).await.unwrap();
        assert_eq!(all, [spent("one", 0.75), spent("two", 1.0)]);
        assert_eq!(store.spending("2026-11-16").await.unwrap(), all);
        assert_eq!(store.spending("2026-11-17").await.unwrap(), []);
    }

    #[test]
    async fn old_days_are_pruned(store: TestStore) {
        for day in 1..=28 {
            for month in [9, 10] {
                let day = format!("2026-{month:02}-{day:02}");
                store.add_spending(&day, vec![spent("one", 1.0)]).await.unwrap();
            }
        }
        store.add_spending("2026-10-29", vec![spent("one", 1.0)]).await.unwrap();
        assert_eq!(store.spending("2026-09-01").await.unwrap(), []);
        assert_eq!(store.spending("2026-10-01").await.unwrap(), [spent("one", 1.0)]);
    }
}
