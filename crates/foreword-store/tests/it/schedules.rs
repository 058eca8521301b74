use std::time::Duration;

use foreword_core::schedule::Timing;
use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::schedules::{ClaimFiring, NewSchedule, Schedule};
use foreword_store::store::Store;

use crate::contract::{at, contract, now};

/// Long ago and far from now by every clock: on Postgres the database's counts.
fn past(minute: u64) -> Timestamp {
    at("2020-01-01T00:00:00Z").plus(Duration::from_secs(minute * 60))
}

fn future() -> Timestamp {
    at("2999-01-01T00:00:00Z")
}

fn timing(cron: &str) -> Timing {
    Timing { cron: cron.to_owned(), time_zone: "Europe/Berlin".to_owned(), enabled: true }
}

async fn put(store: &Store, name: &str, cron: &str, next: Timestamp) -> Schedule {
    let new =
        NewSchedule { name: name.to_owned(), timing: timing(cron), next_fire_at: Some(next), at: now() };
    store.put_schedule(new).await.unwrap()
}

fn claim(name: &str, due_at: Timestamp, next: Timestamp) -> ClaimFiring {
    ClaimFiring {
        schedule: name.to_owned(),
        due_at,
        node: "node-a".parse().unwrap(),
        next_fire_at: Some(next),
        now: now(),
    }
}

fn names(schedules: &[Schedule]) -> Vec<&str> {
    schedules.iter().map(|schedule| schedule.name.as_str()).collect()
}

contract! {
    #[test]
    async fn what_is_due_is_what_is_enabled_and_whose_time_has_come(store: TestStore) {
        put(&store, "later", "0 3 * * *", future()).await;
        put(&store, "second", "0 4 * * *", past(2)).await;
        put(&store, "first", "0 5 * * *", past(1)).await;
        let off = Timing { enabled: false, ..timing("* * * * *") };
        let new = NewSchedule { name: "off".to_owned(), timing: off, next_fire_at: Some(past(0)), at: now() };
        assert_eq!(store.put_schedule(new).await.unwrap().next_fire_at, None);
        assert_eq!(names(&store.due_schedules(now()).await.unwrap()), ["first", "second"]);
        assert_eq!(names(&store.schedules().await.unwrap()), ["first", "later", "off", "second"]);
    }

    #[test]
    async fn a_firing_that_was_missed_is_still_due_after_a_start_and_a_changed_schedule_begins_anew(store: TestStore) {
        put(&store, "digest", "0 3 * * *", past(1)).await;
        // The node starts again and computes the next time from now on.
        let kept = put(&store, "digest", "0 3 * * *", future()).await;
        assert_eq!(kept.next_fire_at, Some(past(1)));
        let changed = put(&store, "digest", "0 4 * * *", future()).await;
        assert_eq!((changed.next_fire_at, changed.timing.cron.as_str()), (Some(future()), "0 4 * * *"));
        assert_eq!(store.schedules().await.unwrap(), [changed]);
    }

    #[test]
    async fn of_all_nodes_that_want_a_firing_one_gets_it(store: TestStore) {
        put(&store, "digest", "* * * * *", past(0)).await;
        let nodes = [store.open_again().await, store.open_again().await];
        for round in 0..5 {
            let mut tasks = Vec::new();
            for task in 0..12 {
                let node = nodes[task % 2].clone();
                let mut wish = claim("digest", past(round), past(round + 1));
                wish.node = format!("node-{task}").parse().unwrap();
                tasks.push(tokio::spawn(async move { node.claim_firing(wish).await.unwrap() }));
            }
            let mut claimed = Vec::new();
            for task in tasks {
                claimed.extend(task.await.unwrap());
            }
            assert_eq!(claimed.len(), 1);
            let stored = store.firings("digest", 1).await.unwrap();
            assert_eq!(stored, claimed);
            assert_eq!(store.schedules().await.unwrap()[0].next_fire_at, Some(past(round + 1)));
        }
        assert_eq!(store.firings("digest", 99).await.unwrap().len(), 5);
    }

    #[test]
    async fn a_firing_is_never_had_twice_even_if_it_becomes_due_again(store: TestStore) {
        put(&store, "digest", "0 3 * * *", past(1)).await;
        assert!(store.claim_firing(claim("digest", past(1), past(5))).await.unwrap().is_some());
        // The clock has jumped back, and somebody has changed the schedule there and back.
        put(&store, "digest", "0 4 * * *", past(1)).await;
        assert_eq!(store.claim_firing(claim("digest", past(1), past(5))).await.unwrap(), None);
        assert_eq!(store.schedules().await.unwrap()[0].next_fire_at, Some(past(5)), "not due for ever");
    }

    #[test]
    async fn what_is_not_due_can_not_be_claimed(store: TestStore) {
        put(&store, "digest", "0 3 * * *", past(3)).await;
        for minute in [2, 4] {
            assert_eq!(store.claim_firing(claim("digest", past(minute), past(9))).await.unwrap(), None);
        }
        for next in [past(2), past(3)] {
            let error = store.claim_firing(claim("digest", past(3), next)).await.unwrap_err();
            assert!(matches!(error, StoreError::Refused { .. }), "{error}");
        }
        let error = store.claim_firing(claim("nothing", past(3), past(4))).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "schedule", .. }), "{error}");
        assert_eq!(store.firings("digest", 9).await.unwrap(), []);
        let mut last = claim("digest", past(3), past(4));
        last.next_fire_at = None;
        assert!(store.claim_firing(last).await.unwrap().is_some());
        assert_eq!(store.due_schedules(now()).await.unwrap(), []);
    }

    #[test]
    async fn failures_are_counted_until_a_firing_succeeds(store: TestStore) {
        put(&store, "digest", "* * * * *", past(0)).await;
        let mut counted = Vec::new();
        for (minute, error) in [(0, Some("no answer")), (1, Some("no answer")), (2, None), (3, Some("again"))] {
            store.claim_firing(claim("digest", past(minute), past(minute + 1))).await.unwrap().unwrap();
            let result = error.map_or(Ok(()), |error| Err(error.to_owned()));
            let schedule = store.finish_firing("digest", past(minute), result, now()).await.unwrap();
            // The first word stands.
            let again = store.finish_firing("digest", past(minute), Ok(()), now()).await.unwrap();
            assert_eq!(again, schedule);
            counted.push((schedule.record.consecutive_failures, schedule.record.last_error));
        }
        let failed = |count, error: &str| (count, Some(error.to_owned()));
        assert_eq!(counted, [failed(1, "no answer"), failed(2, "no answer"), (0, None), failed(1, "again")]);
        let record = store.open_again().await.schedules().await.unwrap().remove(0).record;
        assert_eq!((record.last_due_at, record.last_ended_at), (Some(past(3)), Some(now())));
        let errors: Vec<_> = store.firings("digest", 2).await.unwrap().into_iter().map(|one| one.error).collect();
        assert_eq!(errors, [Some("again".to_owned()), None]);
        let error = store.finish_firing("digest", past(9), Ok(()), now()).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "firing", .. }), "{error}");
    }

    #[test]
    async fn firings_whose_node_has_died_are_listed_until_somebody_ends_them(store: TestStore) {
        put(&store, "digest", "* * * * *", past(0)).await;
        store.claim_firing(claim("digest", past(0), past(1))).await.unwrap().unwrap();
        let mut second = claim("digest", past(1), past(2));
        second.now = now().plus(Duration::from_secs(60));
        store.claim_firing(second).await.unwrap().unwrap();
        let open = store.unfinished_firings(now()).await.unwrap();
        assert_eq!(open.iter().map(|firing| firing.due_at).collect::<Vec<_>>(), [past(0)]);
        // The newer one ends well; what is said of the older one then does not hide that.
        store.finish_firing("digest", past(1), Ok(()), now()).await.unwrap();
        let schedule = store.finish_firing("digest", past(0), Err("its node died".to_owned()), now()).await.unwrap();
        assert_eq!((schedule.record.last_due_at, schedule.record.consecutive_failures), (Some(past(1)), 0));
        assert_eq!(store.unfinished_firings(future()).await.unwrap(), []);
    }

    #[test]
    async fn a_schedule_that_is_no_longer_configured_is_disabled_and_keeps_its_history(store: TestStore) {
        put(&store, "digest", "0 3 * * *", past(0)).await;
        put(&store, "backup", "0 4 * * *", past(0)).await;
        store.claim_firing(claim("digest", past(0), past(1))).await.unwrap().unwrap();
        store.finish_firing("digest", past(0), Err("no answer".to_owned()), now()).await.unwrap();
        store.keep_schedules(["backup".to_owned()].into(), now()).await.unwrap();
        assert_eq!(names(&store.due_schedules(now()).await.unwrap()), ["backup"]);
        assert_eq!(store.claim_firing(claim("digest", past(1), past(2))).await.unwrap(), None);
        let digest = store.schedules().await.unwrap().remove(1);
        assert_eq!((digest.timing.enabled, digest.next_fire_at, digest.record.consecutive_failures), (false, None, 1));
        assert_eq!(store.firings("digest", 9).await.unwrap().len(), 1);
        // Configured again, it goes on from now.
        let again = put(&store, "digest", "0 3 * * *", future()).await;
        assert_eq!((again.next_fire_at, again.record.consecutive_failures), (Some(future()), 1));
    }
}
