use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foreword_core::id::{CallId, TurnId};
use foreword_core::message::{Kind, NewMessage, Role};
use foreword_core::turn_journal::{
    AfterCrash, Journal, JournalStep, Outcome, ReportReason, ToolResult, TurnState,
};
use foreword_store::error::StoreError;
use foreword_store::store::Store;
use foreword_store::turns::{BeginOutcome, BeginTurn, TakeOver, TurnLease};

use super::fixtures::{
    HOUR, answer, begin, begun, conversation, done, dying, message, say, started, step, take_over,
};
use crate::contract::{TestStore, contract, now, on_sqlite};

fn notice(conversation: &str, id: &str) -> NewMessage {
    NewMessage { role: Role::System, kind: Kind::Notice, ..message(conversation, id) }
}

fn wish(turn: &TurnId, node: usize) -> TakeOver {
    TakeOver {
        turn: turn.clone(),
        node: format!("node-{node}").parse().unwrap(),
        lease: HOUR,
        attempts_limit: 3,
        now: now(),
    }
}

contract! {
    #[test]
    async fn interrupted_turn_is_claimed_by_one_node(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let hold = begun(&store, dying("t-1", "c-1")).await.hold;
        let nodes = [store.open_again().await, store.open_again().await];
        let unfinished = nodes[0].unfinished_turns(now()).await.unwrap();
        assert_eq!(unfinished.iter().map(|turn| &turn.id).collect::<Vec<_>>(), [&hold.turn]);
        assert_eq!(store.begin_turn(begin("t-2", "c-1")).await.unwrap(), BeginOutcome::Unfinished { turn: hold.turn.clone() });

        let mut tasks = Vec::new();
        for task in 0..12 {
            let (node, wish) = (nodes[task % 2].clone(), wish(&hold.turn, task));
            tasks.push(tokio::spawn(async move { node.take_over(wish).await.unwrap() }));
        }
        let mut taken = Vec::new();
        for task in tasks {
            taken.extend(task.await.unwrap());
        }
        assert_eq!(taken.len(), 1);
        assert_eq!((taken[0].turn.attempts, &taken[0].after_crash), (2, &AfterCrash::Resume));
        assert!(taken[0].hold.fence > hold.fence);
        assert_eq!(store.unfinished_turns(now()).await.unwrap(), []);
    }

    #[test]
    async fn held_turn_can_not_be_taken_over(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let hold = begun(&store, begin("t-1", "c-1")).await.hold;
        assert_eq!(store.unfinished_turns(now()).await.unwrap(), []);
        assert_eq!(store.take_over(wish(&hold.turn, 2)).await.unwrap(), None);
        let busy = BeginOutcome::Busy { turn: hold.turn.clone(), holder: "node-a".parse().unwrap() };
        assert_eq!(store.begin_turn(begin("t-2", "c-1")).await.unwrap(), busy);
        store.finish_turn(&hold, done("c-1", "r-1")).await.unwrap();
        assert_eq!(store.take_over(wish(&hold.turn, 2)).await.unwrap(), None);
        let error = store.take_over(wish(&"t-9".parse().unwrap(), 2)).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "turn", .. }), "{error}");
    }

    #[test]
    async fn turn_interrupted_in_an_effect_is_reported(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let old = begun(&store, dying("t-1", "c-1")).await.hold;
        store.record_step(&old, step(2, answer())).await.unwrap();
        store.record_step(&old, step(3, started("call-1", true))).await.unwrap();
        let taken = take_over(&store, &old.turn, "node-b").await.unwrap();
        let AfterCrash::Report(why) = &taken.after_crash else { panic!("{taken:?}") };
        assert!(matches!(why, ReportReason::Tool { tool, call } if tool == "send_mail" && call.as_str() == "call-1"));

        let error = store.report_interrupted(&old, why, notice("c-1", "n-1")).await.unwrap_err();
        assert!(matches!(error, StoreError::LeaseLost { .. }), "{error}");
        let notice_message = store.report_interrupted(&taken.hold, why, notice("c-1", "n-1")).await.unwrap();
        assert_eq!(store.report_interrupted(&taken.hold, why, notice("c-1", "n-1")).await.unwrap(), notice_message);
        let turn = store.turn(&old.turn).await.unwrap();
        assert_eq!((turn.state, turn.ended_at), (TurnState::Interrupted, Some(now())));
        assert!(turn.failure.unwrap().detail.for_record().contains("`send_mail`"));
        assert_eq!(store.history(&id).await.unwrap().messages[1..], [notice_message]);
        assert_eq!(store.pending(&id).await.unwrap(), []);
        say(&store, &id, "m-2").await;
        assert_eq!(begun(&store, begin("t-2", "c-1")).await.messages.len(), 1);
    }

    #[test]
    async fn turn_that_kills_every_node_is_finally_reported(store: TestStore) {
        let id = conversation(&store, "c-1").await;
        say(&store, &id, "m-1").await;
        let turn = begun(&store, dying("t-1", "c-1")).await.hold.turn;
        for attempt in 2..=4 {
            let short = TakeOver { lease: Duration::ZERO, ..wish(&turn, attempt) };
            let taken = store.take_over(short).await.unwrap().unwrap();
            let reported = matches!(taken.after_crash, AfterCrash::Report(ReportReason::Attempts { attempts: 4 }));
            assert_eq!(reported, attempt == 4, "{taken:?}");
        }
    }

    #[test]
    async fn crash_after_any_step_loses_and_repeats_nothing(store: TestStore) {
        let (mut answered, mut reported) = (0, 0);
        for life in 0..11 {
            let name = format!("c-{life}");
            let id = conversation(&store, &name).await;
            say(&store, &id, &format!("m-{life}")).await;
            let hold = begun(&store, dying(&format!("t-{life}"), &name)).await.hold;
            let world = World::default();
            let first = Node { store: &store, hold, world: &world, life: Some(life) };
            if first.run(Journal::new(accepted(&store, life).await)).await != Ended::Answered {
                let other = store.open_again().await;
                let taken = take_over(&other, &format!("t-{life}").parse().unwrap(), "node-b").await.unwrap();
                match &taken.after_crash {
                    AfterCrash::Resume => {
                        let second = Node { store: &other, hold: taken.hold, world: &world, life: None };
                        assert_eq!(second.run(taken.journal).await, Ended::Answered);
                    }
                    AfterCrash::Report(why) => {
                        let notice = notice(&name, &format!("n-{life}"));
                        other.report_interrupted(&taken.hold, why, notice).await.unwrap();
                    }
                }
            }
            assert!(world.count("mail") <= 1, "after {life} steps");
            match store.turn(&format!("t-{life}").parse().unwrap()).await.unwrap().state {
                TurnState::Ended(Outcome::Done) => answered += 1,
                TurnState::Interrupted => reported += 1,
                other => panic!("{other} after {life} steps"),
            }
            assert_eq!(store.history(&id).await.unwrap().messages.len(), 2, "after {life} steps");
        }
        // The outcome is unknown only between the start of the mail tool and the record of its result.
        assert_eq!((answered, reported), (9, 2));
    }

    /// Every lease expires at once, so nodes take turns over from live nodes: only the fence protects.
    #[test]
    async fn nodes_with_expired_leases_do_nothing_twice(store: TestStore) {
        const CONVERSATIONS: usize = 4;
        let world = Arc::new(World::default());
        for number in 0..CONVERSATIONS {
            let id = conversation(&store, &format!("c-{number}")).await;
            say(&store, &id, &format!("m-{number}")).await;
        }
        let mut workers = Vec::new();
        for worker in 0..4 {
            let (store, world) = (store.open_again().await, Arc::clone(&world));
            workers.push(tokio::spawn(async move {
                for number in (0..CONVERSATIONS).cycle().skip(worker).take(CONVERSATIONS * 12) {
                    work(&store, &world, worker, number).await;
                }
            }));
        }
        for worker in workers {
            worker.await.unwrap();
        }
        for number in 0..CONVERSATIONS {
            while !ended(&store, number).await {
                work(&store, &world, 9, number).await;
            }
            let id = format!("c-{number}").parse().unwrap();
            assert_eq!(store.history(&id).await.unwrap().messages.len(), 2, "answered or reported, once");
            assert!(world.count(&format!("mail {number}")) <= 1);
        }
    }
}

/// The side effects of tools, which survive crashes.
#[derive(Debug, Default)]
struct World(Mutex<BTreeMap<String, usize>>);

impl World {
    fn act(&self, what: &str) {
        *self.0.lock().unwrap().entry(what.to_owned()).or_default() += 1;
    }

    fn count(&self, what: &str) -> usize {
        self.0.lock().unwrap().get(what).copied().unwrap_or(0)
    }
}

async fn accepted(store: &Store, turn: usize) -> Vec<JournalStep> {
    let steps = store.journal(&format!("t-{turn}").parse().unwrap()).await.unwrap();
    steps.into_iter().map(|recorded| recorded.step).collect()
}

#[derive(Debug, PartialEq)]
enum Ended {
    Answered,
    Died,
}

/// A node that runs one turn: a model call, a read-only tool, a tool that sends a mail, and the reply.
struct Node<'a> {
    store: &'a Store,
    hold: TurnLease,
    world: &'a World,
    /// The number of actions before it crashes.
    life: Option<usize>,
}

impl Node<'_> {
    async fn run(mut self, journal: Journal) -> Ended {
        let number = self.hold.turn.as_str().trim_start_matches("t-").to_owned();
        let mut next = journal.next_number();
        let mut todo: Vec<(Option<JournalStep>, Option<&str>)> = Vec::new();
        if !journal.steps().iter().any(|step| step.kind() == "call") {
            todo.push((Some(answer()), None));
        }
        for (call, side_effects) in [("look", false), ("mail", true)] {
            let id = CallId::new(call).unwrap();
            if journal.result_of(&id).is_none() {
                let result = ToolResult { call: id, content: "ok".to_owned(), is_error: false };
                todo.push((Some(started(call, side_effects)), None));
                todo.push((None, Some(call)));
                todo.push((Some(JournalStep::ToolFinished(result)), None));
            }
        }
        for (record, act) in todo {
            if !self.lives() {
                return Ended::Died;
            }
            if let Some(act) = act {
                self.world.act(act);
                self.world.act(&format!("{act} {number}"));
            }
            if let Some(record) = record {
                if self.store.record_step(&self.hold, step(next, record)).await.is_err() {
                    return Ended::Died;
                }
                next += 1;
            }
        }
        let reply = done(&format!("c-{number}"), &format!("r-{number}"));
        if self.lives() && self.store.finish_turn(&self.hold, reply).await.is_ok() {
            return Ended::Answered;
        }
        Ended::Died
    }

    fn lives(&mut self) -> bool {
        match &mut self.life {
            Some(0) => false,
            Some(life) => {
                *life -= 1;
                true
            }
            None => true,
        }
    }
}

/// A worker's attempt at a conversation: begin a turn, or take one over.
async fn work(store: &Store, world: &World, worker: usize, number: usize) {
    let new = BeginTurn {
        node: format!("node-{worker}").parse().unwrap(),
        ..dying(&format!("t-{number}"), &format!("c-{number}"))
    };
    let turn = new.turn.clone();
    match store.begin_turn(new).await {
        Ok(BeginOutcome::Begun(begun)) if begun.next_step == 2 => {
            let journal = Journal::new(accepted(store, number).await);
            Node { store, hold: begun.hold, world, life: None }.run(journal).await;
        }
        // The id exists, so the turn has begun. The worker that takes it over continues it.
        _ => {
            let wish = TakeOver { lease: Duration::ZERO, attempts_limit: 30, ..wish(&turn, worker) };
            let Ok(Some(taken)) = store.take_over(wish).await else { return };
            match &taken.after_crash {
                AfterCrash::Resume => {
                    Node { store, hold: taken.hold, world, life: None }.run(taken.journal).await;
                }
                AfterCrash::Report(why) => {
                    let notice = notice(&format!("c-{number}"), &format!("n-{number}"));
                    let _ = store.report_interrupted(&taken.hold, why, notice).await;
                }
            }
        }
    }
}

async fn ended(store: &Store, number: usize) -> bool {
    let turn = store.turn(&format!("t-{number}").parse().unwrap()).await.unwrap();
    turn.state != TurnState::Running
}

/// On Postgres the database's clock applies, which a test can't change.
mod by_the_callers_clock {
    use super::*;

    const LASTS: Duration = Duration::from_secs(30);

    fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    async fn half_a_minute(store: &TestStore) -> TurnLease {
        let id = conversation(store, "c-1").await;
        say(store, &id, "m-1").await;
        begun(store, BeginTurn { lease: LASTS, ..begin("t-1", "c-1") }).await.hold
    }

    #[test]
    fn lease_expires_without_writes() {
        on_sqlite(|store| async move {
            let hold = half_a_minute(&store).await;
            let free =
                async |second| !store.unfinished_turns(now().plus(seconds(second))).await.unwrap().is_empty();
            assert!(!free(29).await);
            assert!(free(30).await);
            store.renew_lease(&hold, now().plus(seconds(20))).await.unwrap();
            assert!(!free(49).await);
            let mut new = step(2, answer());
            new.at = now().plus(seconds(45));
            store.record_step(&hold, new).await.unwrap();
            assert!(!free(74).await);
            assert!(free(75).await);
            // The lease was not taken over, so its holder can still renew it.
            store.renew_lease(&hold, now().plus(seconds(90))).await.unwrap();
            assert!(!free(91).await);
        });
    }

    #[test]
    fn lease_survives_a_clock_that_jumps_back() {
        on_sqlite(|store| async move {
            let hold = half_a_minute(&store).await;
            let back = now().minus(HOUR * 5);
            let wish = |second| TakeOver { now: back.plus(seconds(second)), ..wish(&hold.turn, 2) };
            let begin = |second| BeginTurn { now: back.plus(seconds(second)), ..begin("t-2", "c-1") };
            assert!(matches!(store.begin_turn(begin(0)).await.unwrap(), BeginOutcome::Busy { .. }));
            assert_eq!(store.unfinished_turns(back.plus(seconds(1))).await.unwrap(), []);
            assert_eq!(store.take_over(wish(29)).await.unwrap(), None);
            // A live holder renews it.
            store.renew_lease(&hold, back.plus(seconds(29))).await.unwrap();
            assert_eq!(store.take_over(wish(58)).await.unwrap(), None);
            // A dead holder loses it.
            assert_eq!(store.unfinished_turns(back.plus(seconds(59))).await.unwrap().len(), 1);
            assert!(store.take_over(wish(59)).await.unwrap().is_some());
        });
    }

    #[test]
    fn first_check_after_a_clock_jump_redates_the_lease() {
        on_sqlite(|store| async move {
            half_a_minute(&store).await;
            let back = now().minus(HOUR * 5);
            assert_eq!(store.unfinished_turns(back).await.unwrap(), []);
            assert_eq!(store.unfinished_turns(back.plus(seconds(29))).await.unwrap(), []);
            assert_eq!(store.unfinished_turns(back.plus(seconds(30))).await.unwrap().len(), 1);
        });
    }
}
