//! A process that dies during a run: another one resumes it and repeats no side effect.

use std::path::Path;
use std::time::Duration;

use foreword_agent::background::workflows::{ResumeWorkflow, StartWorkflow, WorkflowError};
use foreword_agent::error::AgentError;
use foreword_core::turn_journal::Outcome;
use foreword_core::workflow::Resume;
use foreword_store::workflow_runs::{RunState, WorkflowRun, WorkflowStepRecord};
use foreword_testkit::{FakeProvider, Reply, Script, eventually, until};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use crate::bash_limits::living;
use crate::fixture::{Fixture, Node, Setting, alice};
use crate::workflows::{furnish, start};

const LEASE: Duration = Duration::from_millis(1_500);

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn setting() -> Setting {
    Setting::lease(LEASE)
}

/// A node that starts after the lease of the crashed one has expired.
async fn successor(fixture: &Fixture) -> Node {
    fixture.another(setting().later(LEASE * 2)).await
}

/// A process that starts the workflow `work` and dies when `dies` returns true.
fn die(script: Script, workflow: &str, dies: impl Fn(&FakeProvider, &Path) -> bool) -> Fixture {
    let life = runtime();
    let fixture = life.block_on(Fixture::set(script, setting(), ""));
    furnish(&fixture, &[("work", workflow)]);
    let path = fixture.folder.path().to_owned();
    life.block_on(async {
        let agent = fixture.agent.clone();
        tokio::spawn(async move { agent.run_workflow(start("work", json!({}), alice())).await });
        until("the place where it dies", async || dies(&fixture.provider, &path)).await;
    });
    life.shutdown_timeout(Duration::from_secs(5));
    fixture
}

/// The run once it has ended.
async fn ended(node: &Node) -> (WorkflowRun, Vec<WorkflowStepRecord>) {
    node.agent.recover().await.unwrap();
    let runs = eventually(async || {
        let runs = node.store.workflow_runs(Default::default(), 10).await.unwrap();
        if runs.iter().all(|run| run.state != RunState::Running) { Ok(runs) } else { Err(runs) }
    })
    .await;
    assert_eq!(runs.len(), 1);
    node.store.workflow_run(&runs[0].id).await.unwrap()
}

#[test]
fn crash_between_steps_repeats_no_step() {
    let work = "name: work\ndescription: Works.\nsteps:\n  - tool: bash\n    arguments: { command: 'echo ran >> ran.txt' }\n  \
                - prompt: Say what was done.\n  - prompt: And now?\n";
    let script =
        Script::from([Reply::text("Half").then_silence(), Reply::text("It ran."), Reply::text("Rest.")]);
    let fixture = die(script, work, |provider, _| provider.counts().requests == 1);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let (run, steps) = ended(&node).await;
        assert_eq!((run.state, run.error), (RunState::Ended(Outcome::Done), None));
        assert_eq!(run.output, Some(json!("Rest.")));
        assert_eq!(steps.iter().map(|step| step.attempts).collect::<Vec<_>>(), [1, 1, 1]);
        let ran = std::fs::read_to_string(fixture.folder.path().join("ran.txt")).unwrap();
        assert_eq!(ran, "ran\n");
        // The prompt is the same message, answered once.
        let conversation = foreword_agent::background::workflows::conversation_of(&run.id).unwrap();
        let turns = node.store.turns(&conversation, None, 10).await.unwrap();
        assert_eq!(turns.len(), 2);
    });
}

#[test]
fn crash_in_a_side_effect_step_fails_the_run() {
    let seconds = format!("3600.{}77", std::process::id());
    let work = format!(
        "name: work\ndescription: Works.\nsteps:\n  - {{ prompt: Begin. }}\n  - name: ship\n    tool: bash\n    arguments: \
         {{ command: 'test -e ran.txt || {{ echo ran > ran.txt; sleep {seconds}; }}; echo shipped' }}\n  \
         - prompt: 'It says {{{{ previous }}}}'\n"
    );
    let script = Script::from([Reply::text("Begun.")]).then_always(Reply::text("Told."));
    let fixture = die(script, &work, |_, folder| folder.join("ran.txt").exists());
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let (run, steps) = ended(&node).await;
        assert_eq!(run.state, RunState::Ended(Outcome::Failed));
        assert_eq!(
            run.error.as_ref().map(|error| error.for_record().as_str()),
            Some(
                "step 2 of 3 (`ship`) was interrupted and may have taken effect, so it is not retried automatically"
            )
        );
        assert_eq!((steps.len(), steps[1].ended_at, living(&seconds)), (2, None, 0));
        assert_eq!(fixture.provider.requests().len(), 1, "nothing behind it is done");

        let resume = |how| ResumeWorkflow { run: run.id.clone(), how, force: false };
        let refused = node.agent.resume_workflow(resume(Resume::Plain)).await.unwrap_err();
        assert!(matches!(refused, AgentError::Workflow(WorkflowError::Resume(_))), "{refused}");
        assert!(refused.to_string().contains("step 2 (`ship`) was interrupted and may have taken effect"));
        let end = node.agent.resume_workflow(resume(Resume::Redo)).await.unwrap();
        assert_eq!((end.error.as_ref(), end.output.as_str()), (None, "Told."));
        assert!(end.steps[1].output.as_deref().unwrap().contains("shipped"));
        assert_eq!(fixture.provider.requests().len(), 2, "the first step was not done again");
    });
}

#[test]
fn crash_in_a_read_only_step_repeats_it() {
    let work = "name: work\ndescription: Works.\nsteps:\n  - { prompt: Begin. }\n  - { tool: memory_search, arguments: { query: Carol } }\n  \
                - { prompt: 'Say {{ previous }}' }\n";
    let script = Script::from([Reply::silence(), Reply::text("Begun."), Reply::text("Said.")]);
    let fixture = die(script, work, |provider, _| provider.counts().requests == 1);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let (run, _) = ended(&node).await;
        assert_eq!((run.state, run.output), (RunState::Ended(Outcome::Done), Some(json!("Said."))));
        assert!(fixture.provider.requests().last().unwrap().conversation().contains("number 7"));
    });
}

#[test]
fn interrupted_run_can_be_resumed_manually() {
    let work = "name: work\ndescription: Works.\nsteps: [{ prompt: Begin. }, { prompt: End. }]\n";
    let script = Script::from([Reply::silence(), Reply::text("Begun."), Reply::text("Ended.")]);
    let fixture = die(script, work, |provider, _| provider.counts().requests == 1);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let runs = node.store.workflow_runs(Default::default(), 10).await.unwrap();
        let resume = ResumeWorkflow { run: runs[0].id.clone(), how: Resume::Plain, force: false };
        let end = node.agent.resume_workflow(resume).await.unwrap();
        assert_eq!((end.outcome, end.output.as_str()), (Outcome::Done, "Ended."));
    });
}

#[test]
fn renamed_prompt_step_is_resumed() {
    let work =
        "name: work\ndescription: Works.\nsteps: [{ name: begin, prompt: Begin. }, { prompt: End. }]\n";
    let script = Script::from([Reply::silence(), Reply::text("Begun."), Reply::text("Ended.")]);
    let fixture = die(script, work, |provider, _| provider.counts().requests == 1);
    furnish(&fixture, &[("work", &work.replace("name: begin", "name: first"))]);
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let (run, steps) = ended(&node).await;
        assert_eq!((run.error, run.output), (None, Some(json!("Ended."))));
        assert_eq!(steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), ["first", "step-2"]);
    });
}

#[test]
fn unresumable_run_fails_with_a_reason() {
    runtime().block_on(async {
        let fixture = Fixture::set(Script::default(), setting(), "").await;
        furnish(&fixture, &[("work", "name: work\ndescription: Works.\nsteps: [{ prompt: Begin. }]\n")]);
        // A name with no room for that of its conversation.
        let run = Some("r".repeat(foreword_core::id::MAX_ID_BYTES).parse().unwrap());
        let start = StartWorkflow { run, ..start("work", json!({}), alice()) };
        let error = fixture.agent.run_workflow(start).await.unwrap_err().cause();
        let node = successor(&fixture).await;
        let (run, _) = ended(&node).await;
        assert_eq!((run.state, run.error), (RunState::Ended(Outcome::Failed), Some(error)));
    });
}

#[test]
fn manual_resume_applies_to_the_interrupted_step_only() {
    let work = "name: work\ndescription: Works.\nsteps:\n  - { prompt: Begin. }\n  - tool: bash\n    arguments: \
                { command: 'echo ran >> ran.txt; exit 3' }\n  - { prompt: End. }\n";
    for how in [Resume::Plain, Resume::Redo, Resume::Skip] {
        let script = Script::from([Reply::silence()]).then_always(Reply::text("Said."));
        let fixture = die(script, work, |provider, _| provider.counts().requests == 1);
        runtime().block_on(async {
            let node = successor(&fixture).await;
            let runs = node.store.workflow_runs(Default::default(), 10).await.unwrap();
            let resume = ResumeWorkflow { run: runs[0].id.clone(), how, force: false };
            let end = node.agent.resume_workflow(resume).await.unwrap();
            assert_eq!((end.outcome, end.steps.len()), (Outcome::Failed, 2), "{how:?}: {end:?}");
            let ran = std::fs::read_to_string(fixture.folder.path().join("ran.txt")).unwrap();
            assert_eq!((ran.as_str(), end.steps[1].done), ("ran\n", false), "{how:?}");
        });
    }
}

#[test]
fn manual_resume_continues_from_the_interrupted_step() {
    let seconds = format!("3600.{}78", std::process::id());
    let work = format!(
        "name: work\ndescription: Works.\nsteps:\n  - name: ship\n    tool: bash\n    arguments: \
         {{ command: 'echo ran >> ran.txt; sleep {seconds}' }}\n  - prompt: End.\n"
    );
    let script = Script::default().then_always(Reply::text("Ended."));
    let fixture = die(script, &work, |_, folder| folder.join("ran.txt").exists());
    runtime().block_on(async {
        let node = successor(&fixture).await;
        let runs = node.store.workflow_runs(Default::default(), 10).await.unwrap();
        let resume = ResumeWorkflow { run: runs[0].id.clone(), how: Resume::Skip, force: false };
        let end = node.agent.resume_workflow(resume).await.unwrap();
        assert_eq!((end.outcome, end.output.as_str()), (Outcome::Done, "Ended."), "{end:?}");
        let ran = std::fs::read_to_string(fixture.folder.path().join("ran.txt")).unwrap();
        assert_eq!(ran, "ran\n");
    });
}
