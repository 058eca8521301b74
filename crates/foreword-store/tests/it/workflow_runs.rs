use std::time::Duration;

use foreword_core::failure::OwnerOnly;
use foreword_core::id::{ConversationId, RunId};
use foreword_core::turn_journal::Outcome;
use foreword_core::workflow::Reopen;
use foreword_prompt::text::ContentHash;
use foreword_store::conversations::NewConversation;
use foreword_store::error::StoreError;
use foreword_store::workflow_runs::{
    FinishRun, ReopenRun, RunFilter, RunLease, RunState, StartRun, StartStep, WorkflowRun,
};
use serde_json::json;

use crate::contract::{contract, now, on_sqlite};

const HOUR: Duration = Duration::from_secs(3_600);

fn start(id: &str) -> StartRun {
    StartRun {
        run: RunId::new(id).unwrap(),
        workflow: "release".to_owned(),
        parameters: json!({"version": "1.2"}),
        conversation: None,
        started_by: Some("alice".to_owned()),
        occasion: Some(json!({"user": "alice"})),
        workflow_hash: Some(ContentHash::of("release")),
        tainted: false,
        node: "node-a".parse().unwrap(),
        lease: HOUR,
        now: now(),
    }
}

/// A run whose lease expires at once, by any clock.
fn dying(id: &str) -> StartRun {
    StartRun { lease: Duration::ZERO, ..start(id) }
}

fn text(error: &Option<OwnerOnly<String>>) -> Option<&str> {
    error.as_ref().map(|error| error.for_record().as_str())
}

fn end(outcome: Outcome) -> FinishRun {
    FinishRun { outcome, output: Some(json!(["v1.2"])), error: None, at: now() }
}

fn ids(runs: &[WorkflowRun]) -> Vec<&str> {
    runs.iter().map(|run| run.id.as_str()).collect()
}

contract! {
    #[test]
    async fn run_records_its_steps(store: TestStore) {
        let hold = store.start_run(start("r-1")).await.unwrap();
        store.start_workflow_step(&hold, StartStep::new(1, "build"), now()).await.unwrap();
        store.finish_workflow_step(&hold, 1, Ok(json!({"ok": true})), now()).await.unwrap();
        store.start_workflow_step(&hold, StartStep::new(2, "publish"), now()).await.unwrap();
        store.finish_workflow_step(&hold, 2, Err("no network".to_owned().into()), now()).await.unwrap();
        // The first result counts.
        store.finish_workflow_step(&hold, 2, Ok(json!(1)), now()).await.unwrap();
        let failed = FinishRun { error: Some("publish failed".to_owned().into()), ..end(Outcome::Failed) };
        store.finish_run(&hold, failed).await.unwrap();

        let (run, steps) = store.open_again().await.workflow_run(&hold.run).await.unwrap();
        assert_eq!((run.state, text(&run.error)), (RunState::Ended(Outcome::Failed), Some("publish failed")));
        assert_eq!((run.parameters, run.output), (json!({"version": "1.2"}), Some(json!(["v1.2"]))));
        assert_eq!((run.started_by.as_deref(), run.ended_at), (Some("alice"), Some(now())));
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, ["build", "publish"]);
        assert_eq!((&steps[0].output, &steps[0].error), (&Some(json!({"ok": true})), &None));
        assert_eq!((&steps[1].output, text(&steps[1].error)), (&None, Some("no network")));
    }

    #[test]
    async fn step_is_appended_and_never_overwritten(store: TestStore) {
        let hold = store.start_run(start("r-1")).await.unwrap();
        store.start_workflow_step(&hold, StartStep::new(1, "make"), now()).await.unwrap();
        // The file may have changed since: the name of an unfinished step follows it.
        store.start_workflow_step(&hold, StartStep::new(1, "build"), now()).await.unwrap();
        assert_eq!(store.workflow_run(&hold.run).await.unwrap().1[0].name, "build");
        store.finish_workflow_step(&hold, 1, Ok(json!("built")), now()).await.unwrap();
        for (number, name) in [(1, "publish"), (3, "publish"), (0, "build"), (u64::MAX, "build")] {
            let error = store.start_workflow_step(&hold, StartStep::new(number, name), now()).await.unwrap_err();
            assert!(matches!(error, StoreError::Refused { .. }), "{number}: {error}");
        }
        let error = store.finish_workflow_step(&hold, 2, Ok(json!(1)), now()).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "step", .. }), "{error}");
        assert_eq!(store.workflow_run(&hold.run).await.unwrap().1.len(), 1);
    }

    #[test]
    async fn starting_a_run_is_idempotent(store: TestStore) {
        let hold = store.start_run(start("r-1")).await.unwrap();
        assert_eq!(store.start_run(start("r-1")).await.unwrap(), hold);
        let elsewhere = StartRun { node: "node-b".parse().unwrap(), ..start("r-1") };
        let error = store.start_run(elsewhere).await.unwrap_err();
        assert!(matches!(error, StoreError::UsedBefore { .. }), "{error}");
        store.finish_run(&hold, end(Outcome::Done)).await.unwrap();
        store.finish_run(&hold, end(Outcome::Done)).await.unwrap();
        for error in [
            store.start_run(start("r-1")).await.unwrap_err(),
            store.finish_run(&hold, end(Outcome::Cancelled)).await.unwrap_err(),
            store.start_workflow_step(&hold, StartStep::new(1, "build"), now()).await.unwrap_err(),
        ] {
            let ended = matches!(error, StoreError::UsedBefore { .. } | StoreError::LeaseLost { holder: None, .. });
            assert!(ended, "{error}");
        }
    }

    #[test]
    async fn interrupted_run_is_claimed_by_one_node(store: TestStore) {
        let old = store.start_run(dying("r-1")).await.unwrap();
        store.start_run(start("r-2")).await.unwrap();
        store.start_workflow_step(&old, StartStep::new(1, "build"), now()).await.unwrap();
        assert_eq!(ids(&store.unfinished_runs(now()).await.unwrap()), ["r-1"]);
        assert_eq!(store.take_over_run(&"r-2".parse().unwrap(), &"node-b".parse().unwrap(), HOUR, now()).await.unwrap(), None);

        let nodes = [store.open_again().await, store.open_again().await];
        let mut tasks = Vec::new();
        for task in 0..12 {
            let (node, run) = (nodes[task % 2].clone(), old.run.clone());
            let name = format!("node-{task}").parse().unwrap();
            tasks.push(tokio::spawn(async move { node.take_over_run(&run, &name, HOUR, now()).await.unwrap() }));
        }
        let mut taken: Vec<RunLease> = Vec::new();
        for task in tasks {
            taken.extend(task.await.unwrap());
        }
        assert_eq!(taken.len(), 1);
        assert_eq!(store.unfinished_runs(now()).await.unwrap(), []);
        for error in [
            store.renew_run(&old, now()).await.unwrap_err(),
            store.finish_workflow_step(&old, 1, Ok(json!(1)), now()).await.unwrap_err(),
            store.finish_run(&old, end(Outcome::Done)).await.unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::LeaseLost { what: "run", holder: Some(_), .. }), "{error}");
        }
        // A step that was started and has not ended is visible.
        let (run, steps) = store.workflow_run(&old.run).await.unwrap();
        assert_eq!((run.state, steps[0].ended_at), (RunState::Running, None));
        store.finish_workflow_step(&taken[0], 1, Ok(json!(1)), now()).await.unwrap();
        store.finish_run(&taken[0], end(Outcome::Done)).await.unwrap();
    }

    #[test]
    async fn runs_are_paged_newest_first(store: TestStore) {
        for (number, second) in [(1, 5), (2, 9), (3, 5), (4, 7)] {
            let mut new = start(&format!("r-{number}"));
            new.now = now().plus(Duration::from_secs(second));
            if number == 4 {
                new.workflow = "backup".to_owned();
                new.started_by = Some("carol".to_owned());
            }
            store.start_run(new).await.unwrap();
        }
        let first = store.workflow_runs(RunFilter::default(), 3).await.unwrap();
        assert_eq!(ids(&first), ["r-2", "r-4", "r-3"]);
        let before = Some((first[2].started_at, first[2].id.clone()));
        let rest = store.workflow_runs(RunFilter { before, ..RunFilter::default() }, 3).await.unwrap();
        assert_eq!(ids(&rest), ["r-1"]);
        let backups = RunFilter { workflow: Some("backup".to_owned()), ..RunFilter::default() };
        assert_eq!(ids(&store.workflow_runs(backups, 3).await.unwrap()), ["r-4"]);
        let carols = RunFilter { started_by: Some("carol".to_owned()), ..RunFilter::default() };
        assert_eq!(ids(&store.workflow_runs(carols, 3).await.unwrap()), ["r-4"]);
    }

    #[test]
    async fn failed_run_reopens_with_its_outputs(store: TestStore) {
        let hold = store.start_run(start("r-1")).await.unwrap();
        store.start_workflow_step(&hold, StartStep::new(1, "build"), now()).await.unwrap();
        store.finish_workflow_step(&hold, 1, Ok(json!("built")), now()).await.unwrap();
        let publish = StartStep { side_effects: true, definition: Some(ContentHash::of("p")), ..StartStep::new(2, "publish") };
        store.start_workflow_step(&hold, publish, now()).await.unwrap();
        store.finish_workflow_step(&hold, 2, Err("no network".to_owned().into()), now()).await.unwrap();
        let reopen = |reopen| ReopenRun {
            run: hold.run.clone(), reopen, name: None, workflow_hash: None, node: "node-b".parse().unwrap(), lease: HOUR, now: now(),
        };
        assert_eq!(store.reopen_run(reopen(Reopen::Again(2))).await.unwrap(), None, "it is under way");
        store.taint_run(&hold, now()).await.unwrap();
        store.finish_run(&hold, end(Outcome::Failed)).await.unwrap();
        let again = store.reopen_run(reopen(Reopen::Again(2))).await.unwrap().unwrap();
        assert_eq!(store.reopen_run(reopen(Reopen::Again(2))).await.unwrap(), None, "one gets it");
        let (run, steps) = store.workflow_run(&hold.run).await.unwrap();
        assert_eq!((run.state, run.tainted, run.ended_at), (RunState::Running, true, None));
        assert_eq!((run.occasion, run.workflow_hash), (start("r-1").occasion, start("r-1").workflow_hash));
        assert_eq!((steps[0].attempts, &steps[0].output), (1, &Some(json!("built"))));
        assert_eq!((steps[1].attempts, steps[1].ended_at, text(&steps[1].error)), (2, None, Some("no network")));
        assert_eq!((steps[1].side_effects, steps[1].definition), (false, Some(ContentHash::of("p"))));
        store.finish_workflow_step(&again, 2, Ok(json!("published")), now()).await.unwrap();
        store.finish_run(&again, end(Outcome::Done)).await.unwrap();
        let (_, steps) = store.workflow_run(&hold.run).await.unwrap();
        assert_eq!((&steps[1].output, text(&steps[1].error)), (&Some(json!("published")), Some("no network")));
        assert_eq!(store.reopen_run(reopen(Reopen::AsItIs)).await.unwrap(), None, "it has ended well");
    }

    #[test]
    async fn reopened_run_can_skip_an_existing_step(store: TestStore) {
        let hold = store.start_run(start("r-1")).await.unwrap();
        store.start_workflow_step(&hold, StartStep::new(1, "build"), now()).await.unwrap();
        store.finish_run(&hold, end(Outcome::Failed)).await.unwrap();
        let reopen = |reopen| ReopenRun {
            run: hold.run.clone(), reopen, name: None, workflow_hash: None, node: "node-b".parse().unwrap(), lease: HOUR, now: now(),
        };
        let error = store.reopen_run(reopen(Reopen::Without(2))).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { what: "step", .. }), "{error}");
        let (run, _) = store.workflow_run(&hold.run).await.unwrap();
        assert_eq!(run.state, RunState::Ended(Outcome::Failed), "nothing has changed");
        store.reopen_run(reopen(Reopen::Without(1))).await.unwrap().unwrap();
        let (_, steps) = store.workflow_run(&hold.run).await.unwrap();
        assert_eq!((&steps[0].output, steps[0].ended_at), (&Some(json!({"skipped": true})), Some(now())));
    }

    #[test]
    async fn run_outlives_its_conversation(store: TestStore) {
        let id = ConversationId::new("c-1").unwrap();
        store.create_conversation(NewConversation::new(id.clone(), "assistant", "direct", now())).await.unwrap();
        let hold = store.start_run(StartRun { conversation: Some(id.clone()), ..start("r-1") }).await.unwrap();
        assert_eq!(store.workflow_run(&hold.run).await.unwrap().0.conversation, Some(id.clone()));
        store.delete_conversation(&id).await.unwrap();
        assert_eq!(store.workflow_run(&hold.run).await.unwrap().0.conversation, None);
        let late = store.start_run(StartRun { conversation: Some(id), ..start("r-2") }).await.unwrap();
        assert_eq!(store.workflow_run(&late.run).await.unwrap().0.conversation, None);
    }
}

/// On Postgres the database's clock applies, which a test can't change.
#[test]
fn run_lease_survives_a_clock_jump() {
    on_sqlite(|store| async move {
        let minute = Duration::from_secs(60);
        store.start_run(StartRun { lease: minute, ..start("r-1") }).await.unwrap();
        let back = now().minus(HOUR * 5);
        assert_eq!(store.unfinished_runs(back).await.unwrap(), []);
        assert_eq!(store.unfinished_runs(back.plus(minute / 2)).await.unwrap(), []);
        assert_eq!(ids(&store.unfinished_runs(back.plus(minute)).await.unwrap()), ["r-1"]);
    });
}
