use std::time::Duration;

use foreword_core::schedule::{FiringEnd, FiringOutcome, Timing};
use foreword_core::timestamp::Timestamp;
use foreword_store::error::StoreError;
use foreword_store::messages::IdempotencyKey;
use foreword_store::schedules::{
    ClaimFiring, FinishFiring, FinishedFiring, Firing, FiringLinks, NewSchedule, StoredSchedule, TakeFirings,
};
use foreword_store::store::Store;

use crate::contract::{at, contract, now};

fn past(minute: u64) -> Timestamp {
    at("2020-01-01T00:00:00Z").plus(Duration::from_secs(minute * 60))
}

fn future() -> Timestamp {
    at("2999-01-01T00:00:00Z")
}

fn timing(cron: &str) -> Timing {
    Timing { cron: cron.to_owned(), time_zone: "Europe/Berlin".to_owned(), enabled: true }
}

async fn put(store: &Store, name: &str, cron: &str, next: Timestamp) -> StoredSchedule {
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
        skip: None,
    }
}

fn done() -> FiringEnd {
    FiringEnd::Done { note: None }
}

fn failed(error: &str) -> FiringEnd {
    FiringEnd::Failed { error: error.to_owned() }
}

async fn finish(store: &Store, due_at: Timestamp, end: FiringEnd) -> Result<FinishedFiring, StoreError> {
    let (schedule, links) = ("digest".to_owned(), FiringLinks::default());
    store.finish_firing(FinishFiring { schedule, due_at, end, links, now: now() }).await
}

/// The due schedules.
async fn due(store: &Store) -> Vec<String> {
    let all = store.schedules().await.unwrap();
    let due = all.into_iter().filter(|schedule| schedule.next_fire_at.is_some_and(|next| next <= now()));
    due.map(|schedule| schedule.name).collect()
}

async fn take(store: &Store, node: &str, later: u64) -> Vec<Firing> {
    let lease = Duration::from_millis(200);
    let now = now().plus(Duration::from_secs(later));
    store.take_firings(TakeFirings { node: node.parse().unwrap(), lease, now }).await.unwrap()
}

fn names(schedules: &[StoredSchedule]) -> Vec<&str> {
    schedules.iter().map(|schedule| schedule.name.as_str()).collect()
}

contract! {
    #[test]
    async fn enabled_schedules_are_due_on_time(store: TestStore) {
        put(&store, "later", "0 3 * * *", future()).await;
        put(&store, "second", "0 4 * * *", past(2)).await;
        put(&store, "first", "0 5 * * *", past(1)).await;
        let off = Timing { enabled: false, ..timing("* * * * *") };
        let new = NewSchedule { name: "off".to_owned(), timing: off, next_fire_at: Some(past(0)), at: now() };
        assert_eq!(store.put_schedule(new).await.unwrap().next_fire_at, None);
        assert_eq!(due(&store).await, ["first", "second"]);
        assert_eq!(names(&store.schedules().await.unwrap()), ["first", "later", "off", "second"]);
    }

    #[test]
    async fn missed_firing_stays_due_and_changed_schedule_restarts(store: TestStore) {
        put(&store, "digest", "0 3 * * *", past(1)).await;
        // The node restarts and computes the next time.
        let kept = put(&store, "digest", "0 3 * * *", future()).await;
        assert_eq!(kept.next_fire_at, Some(past(1)));
        let changed = put(&store, "digest", "0 4 * * *", future()).await;
        assert_eq!((changed.next_fire_at, changed.timing.cron.as_str()), (Some(future()), "0 4 * * *"));
        assert_eq!(store.schedules().await.unwrap(), [changed]);
    }

    #[test]
    async fn concurrent_claims_of_a_firing_have_one_winner(store: TestStore) {
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
    async fn firing_is_never_claimed_twice(store: TestStore) {
        put(&store, "digest", "0 3 * * *", past(1)).await;
        assert!(store.claim_firing(claim("digest", past(1), past(5))).await.unwrap().is_some());
        // The clock has jumped back, and the schedule was changed twice.
        put(&store, "digest", "0 4 * * *", past(1)).await;
        assert_eq!(store.claim_firing(claim("digest", past(1), past(5))).await.unwrap(), None);
        assert_eq!(store.schedules().await.unwrap()[0].next_fire_at, Some(past(5)), "not due for ever");
    }

    #[test]
    async fn only_due_firings_can_be_claimed(store: TestStore) {
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
        assert_eq!(due(&store).await, [""; 0]);
    }

    #[test]
    async fn failures_are_counted_until_a_firing_succeeds(store: TestStore) {
        put(&store, "digest", "* * * * *", past(0)).await;
        let mut counted = Vec::new();
        for (minute, error) in [(0, Some("no answer")), (1, Some("no answer")), (2, None), (3, Some("again"))] {
            store.claim_firing(claim("digest", past(minute), past(minute + 1))).await.unwrap().unwrap();
            let end = error.map_or_else(done, failed);
            let FinishedFiring { schedule, first } = finish(&store, past(minute), end).await.unwrap();
            assert!(first);
            // The first result counts.
            let again = finish(&store, past(minute), done()).await.unwrap();
            assert_eq!(again, FinishedFiring { schedule: schedule.clone(), first: false });
            counted.push((schedule.record.consecutive_failures, schedule.record.last_error));
        }
        let bad = |count, error: &str| (count, Some(error.to_owned()));
        assert_eq!(counted, [bad(1, "no answer"), bad(2, "no answer"), (0, None), bad(1, "again")]);
        let record = store.open_again().await.schedules().await.unwrap().remove(0).record;
        assert_eq!((record.last_due_at, record.last_ended_at), (Some(past(3)), Some(now())));
        let errors: Vec<_> = store.firings("digest", 2).await.unwrap().into_iter().map(|one| one.error).collect();
        assert_eq!(errors, [Some("again".to_owned()), None]);
        let error = finish(&store, past(9), done()).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "firing", .. }), "{error}");
    }

    #[test]
    async fn firings_of_dead_nodes_are_taken_over_once(store: TestStore) {
        put(&store, "digest", "* * * * *", past(0)).await;
        store.claim_firing(claim("digest", past(0), past(1))).await.unwrap().unwrap();
        store.claim_firing(claim("digest", past(1), past(2))).await.unwrap().unwrap();
        assert_eq!(store.unfinished_firings().await.unwrap().len(), 2);
        assert_eq!(take(&store, "node-b", 0).await, [], "its node has just claimed it");
        tokio::time::sleep(Duration::from_millis(250)).await;
        let held = vec![("digest".to_owned(), past(0))];
        store.renew_firings(&"node-a".parse().unwrap(), held, now().plus(Duration::from_secs(1))).await.unwrap();
        let others = take(&store, "node-b", 1).await;
        assert_eq!(others.iter().map(|firing| firing.due_at).collect::<Vec<_>>(), [past(1)], "its node lives, and is not at this one");
        finish(&store, past(1), done()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(250)).await;
        let taken = take(&store, "node-b", 2).await;
        assert_eq!(taken.iter().map(|firing| (firing.due_at, firing.node.as_str())).collect::<Vec<_>>(), [(past(0), "node-b")]);
        assert_eq!(take(&store, "node-c", 2).await, [], "somebody else has it now");
        // A released firing can be taken over at once.
        store.release_firings(&"node-b".parse().unwrap()).await.unwrap();
        assert_eq!(take(&store, "node-c", 2).await.len(), 1);
        finish(&store, past(0), done()).await.unwrap();
        assert_eq!((take(&store, "node-d", 9).await, store.unfinished_firings().await.unwrap()), (vec![], vec![]));
    }

    #[test]
    async fn older_result_does_not_hide_a_newer_one(store: TestStore) {
        put(&store, "digest", "* * * * *", past(0)).await;
        store.claim_firing(claim("digest", past(0), past(1))).await.unwrap().unwrap();
        store.claim_firing(claim("digest", past(1), past(2))).await.unwrap().unwrap();
        finish(&store, past(1), done()).await.unwrap();
        let FinishedFiring { schedule, .. } = finish(&store, past(0), failed("its node died")).await.unwrap();
        assert_eq!((schedule.record.last_due_at, schedule.record.consecutive_failures), (Some(past(1)), 0));
    }

    #[test]
    async fn missed_firing_can_be_claimed_as_skipped(store: TestStore) {
        for name in ["a", "b", "digest"] {
            put(&store, name, "* * * * *", past(0)).await;
        }
        let skip = ClaimFiring { skip: Some("missed".to_owned()), ..claim("digest", past(0), future()) };
        let batch = vec![claim("a", past(0), future()), claim("b", past(5), future()), skip];
        let claimed = store.claim_firings(batch).await.unwrap();
        assert_eq!(claimed.iter().map(|firing| firing.schedule.as_str()).collect::<Vec<_>>(), ["a", "digest"]);
        assert_eq!(store.firings("digest", 1).await.unwrap(), claimed[1..]);
        assert_eq!((claimed[1].outcome, claimed[1].note.as_deref()), (Some(FiringOutcome::Skipped), Some("missed")));
        assert_eq!(store.unfinished_firings().await.unwrap(), claimed[..1]);
        let last: Vec<_> = store.last_firings().await.unwrap().into_iter().map(|firing| firing.schedule).collect();
        assert_eq!(last, ["a", "digest"]);
        let bad = vec![claim("b", past(0), future()), claim("nothing", past(0), future())];
        store.claim_firings(bad).await.unwrap_err();
        assert_eq!(store.firings("b", 1).await.unwrap(), [], "none, if one can't be");
    }

    #[test]
    async fn firing_on_request_keeps_the_next_one(store: TestStore) {
        put(&store, "digest", "* * * * *", future()).await;
        let node = || "node-a".parse().unwrap();
        let firing = store.begin_firing("digest", node(), now()).await.unwrap().unwrap();
        assert_eq!(store.begin_firing("digest", node(), now()).await.unwrap(), None, "not twice in a moment");
        store.begin_firing("nothing", node(), now()).await.unwrap_err();
        let links = FiringLinks {
            conversation: Some("schedule-digest".parse().unwrap()),
            message: Some("m-1".parse().unwrap()),
            run: Some("r-1".parse().unwrap()),
        };
        let schedule = "digest".to_owned();
        let end = FiringEnd::Done { note: Some("all well".to_owned()) };
        let finish = FinishFiring { schedule, due_at: firing.due_at, end, links: links.clone(), now: now() };
        store.finish_firing(finish).await.unwrap();
        let stored = store.firings("digest", 1).await.unwrap().remove(0);
        assert_eq!((stored.links, stored.outcome, stored.note.as_deref()), (links, Some(FiringOutcome::Done), Some("all well")));
        assert_eq!(store.schedules().await.unwrap()[0].next_fire_at, Some(future()));
    }

    #[test]
    async fn pull_back_skips_times_already_fired(store: TestStore) {
        put(&store, "digest", "* * * * *", past(1)).await;
        store.claim_firing(claim("digest", past(1), future())).await.unwrap().unwrap();
        let candidates = || vec![past(1), past(2)];
        assert_eq!(store.pull_back("digest", past(9), candidates()).await.unwrap(), None, "it has moved on");
        assert_eq!(store.pull_back("digest", future(), vec![past(1)]).await.unwrap(), None, "it has fired then");
        assert_eq!(store.pull_back("digest", future(), candidates()).await.unwrap(), Some(past(2)));
        assert_eq!(store.schedules().await.unwrap()[0].next_fire_at, Some(past(2)));
    }

    #[test]
    async fn message_is_found_by_its_key(store: TestStore) {
        let key = IdempotencyKey { scope: "schedule".to_owned(), key: "digest".to_owned() };
        assert_eq!(store.message_of(key).await.unwrap(), None);
    }

    #[test]
    async fn removed_schedule_is_disabled_with_history(store: TestStore) {
        put(&store, "digest", "0 3 * * *", past(0)).await;
        put(&store, "backup", "0 4 * * *", past(0)).await;
        store.claim_firing(claim("digest", past(0), past(1))).await.unwrap().unwrap();
        finish(&store, past(0), failed("no answer")).await.unwrap();
        let backup = |cron| NewSchedule { name: "backup".to_owned(), timing: timing(cron), next_fire_at: Some(future()), at: now() };
        store.set_schedules(vec![backup("0 4 * * *")], now()).await.unwrap();
        assert_eq!(due(&store).await, ["backup"]);
        store.set_schedules(vec![backup("0 5 * * *")], now()).await.unwrap();
        assert_eq!(due(&store).await, [""; 0], "it has changed");
        assert_eq!(store.claim_firing(claim("digest", past(1), past(2))).await.unwrap(), None);
        let digest = store.schedules().await.unwrap().remove(1);
        assert_eq!((digest.timing.enabled, digest.next_fire_at, digest.record.consecutive_failures), (false, None, 1));
        assert_eq!(store.firings("digest", 9).await.unwrap().len(), 1);
        // Once configured again, it continues from now.
        let again = put(&store, "digest", "0 3 * * *", future()).await;
        assert_eq!((again.next_fire_at, again.record.consecutive_failures), (Some(future()), 1));
    }
}
