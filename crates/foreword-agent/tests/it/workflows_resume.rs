//! Resuming a failed run: finished steps are kept and not repeated.

use foreword_agent::background::workflows::{ResumeWorkflow, RunEnd, WorkflowError};
use foreword_agent::error::AgentError;
use foreword_core::id::RunId;
use foreword_core::turn_journal::Outcome;
use foreword_core::workflow::Resume;
use foreword_testkit::{Reply, Script};
use serde_json::json;

use crate::fixture::{Fixture, Setting};
use crate::workflows::{fixture, furnish, only_run, run};

/// Writes a line, reads a note that is not there yet, and reports.
const RELEASE: &str = "\
name: release
description: Makes a release.
steps:
  - { name: draft, prompt: Draft the notes. }
  - { name: publish, tool: memory_get, arguments: { path: private/release.md } }
  - { name: tell, prompt: 'Tell everybody: {{ steps.draft.output }} / {{ previous }}' }
";

fn resume(run: &RunId, how: Resume) -> ResumeWorkflow {
    ResumeWorkflow { run: run.clone(), how, force: false }
}

/// A run that failed at its second step.
async fn failed_half_way() -> (Fixture, RunEnd) {
    let script = Script::from([Reply::text("Notes.")]).then_always(Reply::text("Told."));
    let fixture = fixture(script, &[("release", RELEASE)]).await;
    let end = run(&fixture, "release", json!({})).await;
    assert_eq!(end.outcome, Outcome::Failed);
    let error = end.error.as_ref().unwrap().for_record();
    assert!(error.starts_with("step 2 of 3 (`publish`): "), "{error}");
    let done: Vec<(&str, bool)> = end.steps.iter().map(|step| (step.name.as_str(), step.done)).collect();
    assert_eq!(done, [("draft", true), ("publish", false)]);
    assert_eq!(end.steps[0].output.as_deref(), Some("Notes."));
    (fixture, end)
}

#[tokio::test]
async fn resume_starts_at_the_failed_step() {
    let (fixture, end) = failed_half_way().await;
    std::fs::write(fixture.folder.path().join("memory/private/release.md"), "# Release\n\nVersion 2.\n")
        .unwrap();
    let end = fixture.agent.resume_workflow(resume(&end.run, Resume::Plain)).await.unwrap();
    assert_eq!((end.outcome, end.output.as_str()), (Outcome::Done, "Told."));
    let requests = fixture.provider.requests();
    assert_eq!(requests.len(), 2, "the draft is not made again");
    let sent = requests[1].conversation();
    assert!(sent.contains("Tell everybody: Notes.") && sent.contains("Version 2."), "{sent}");
    let (_, steps) = only_run(&fixture).await;
    assert_eq!((steps[0].attempts, steps[1].attempts), (1, 2));
    assert!(steps[1].error.is_some() && steps[1].output.is_some(), "the first error stays to be seen");
    let again = fixture.agent.resume_workflow(resume(&end.run, Resume::Plain)).await.unwrap_err();
    assert!(matches!(again, AgentError::Workflow(WorkflowError::HasEnded(_))), "{again}");
}

#[tokio::test]
async fn resume_can_skip_the_failed_step() {
    let (fixture, end) = failed_half_way().await;
    let end = fixture.agent.resume_workflow(resume(&end.run, Resume::Skip)).await.unwrap();
    assert_eq!((end.outcome, end.output.as_str()), (Outcome::Done, "Told."));
    let sent = fixture.provider.requests()[1].conversation();
    assert!(sent.contains("Tell everybody: Notes. / "), "{sent}");
}

#[tokio::test]
async fn failed_turn_fails_its_step_and_is_retried() {
    let script = [Reply::status(400).message("no such thing"), Reply::text("Notes."), Reply::text("Told.")];
    let notes = "name: notes\ndescription: Makes notes.\nsteps: [{ prompt: Draft. }, { prompt: Tell. }]\n";
    let fixture = fixture(script, &[("notes", notes)]).await;
    let end = run(&fixture, "notes", json!({})).await;
    assert_eq!(end.outcome, Outcome::Failed);
    assert!(end.error.unwrap().for_record().contains("no such thing"));
    let end = fixture.agent.resume_workflow(resume(&end.run, Resume::Plain)).await.unwrap();
    assert_eq!((end.outcome, end.output.as_str()), (Outcome::Done, "Told."));
    assert_eq!(fixture.provider.requests().len(), 3);
}

#[tokio::test]
async fn changed_future_steps_allow_a_resume() {
    let (fixture, end) = failed_half_way().await;
    let fixed = RELEASE.replace(
        "memory_get, arguments: { path: private/release.md }",
        "memory_search, arguments: { query: Carol }",
    );
    furnish(&fixture, &[("release", &fixed.replace("name: publish", "name: find"))]);
    let end = fixture.agent.resume_workflow(resume(&end.run, Resume::Plain)).await.unwrap();
    assert_eq!(end.outcome, Outcome::Done);
    let names: Vec<&str> = end.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["draft", "find", "tell"]);
}

#[tokio::test]
async fn changed_finished_steps_need_force() {
    let (fixture, end) = failed_half_way().await;
    furnish(&fixture, &[("release", &RELEASE.replace("Draft the notes.", "Draft other notes."))]);
    let refused = fixture.agent.resume_workflow(resume(&end.run, Resume::Skip)).await.unwrap_err();
    let expected = format!(
        "the file `workflows/release.yaml` has changed since run `{}` was started: step 1 (`draft`) is done, but its \
             definition in the file has changed",
        end.run
    );
    assert_eq!(*refused.cause().for_record(), expected);
    assert!(!refused.to_string().contains("release.yaml"), "the file is for the owner: {refused}");
    let forced = ResumeWorkflow { force: true, ..resume(&end.run, Resume::Skip) };
    assert_eq!(fixture.agent.resume_workflow(forced).await.unwrap().outcome, Outcome::Done);
}

#[tokio::test]
async fn removed_failed_step_can_be_skipped() {
    let (fixture, end) = failed_half_way().await;
    let shorter = RELEASE.lines().take(4).fold(String::new(), |text, line| text + line + "\n");
    furnish(&fixture, &[("release", &shorter)]);
    let resumed = fixture.agent.resume_workflow(resume(&end.run, Resume::Plain));
    let end = tokio::time::timeout(std::time::Duration::from_secs(30), resumed).await.unwrap().unwrap();
    assert_eq!(end.outcome, Outcome::Failed);
    let expected = "step 2 is no longer in the file (it was `publish`): restore it, or resume without it";
    assert_eq!(end.error.as_ref().map(|error| error.for_record().as_str()), Some(expected));
    let end = fixture.agent.resume_workflow(resume(&end.run, Resume::Skip)).await.unwrap();
    assert_eq!((end.outcome, end.error), (Outcome::Done, None));
    assert_eq!(fixture.provider.requests().len(), 1, "nothing is said again");
}

#[tokio::test]
async fn timed_out_step_is_retried_only_on_request() {
    let limits = "agent: { name: Ada, model: anthropic/claude-haiku-4-5, limits: { seconds: 1 } }\n";
    let slow = "name: slow\ndescription: Takes long.\nsteps:\n  - name: ship\n    tool: bash\n    arguments: \
                { command: 'test -e ran.txt || { touch ran.txt; sleep 60; }; echo again >> again.txt' }\n";
    let fixture = Fixture::set(Script::default(), Setting::default(), limits).await;
    furnish(&fixture, &[("slow", slow)]);
    let end = run(&fixture, "slow", json!({})).await;
    assert_eq!(end.outcome, Outcome::Failed);
    let expected =
        "step 1 of 1 (`ship`) was interrupted and may have taken effect, so it is not retried automatically";
    assert_eq!(end.error.as_ref().map(|error| error.for_record().as_str()), Some(expected));
    let refused = fixture.agent.resume_workflow(resume(&end.run, Resume::Plain)).await.unwrap_err();
    assert!(matches!(refused, AgentError::Workflow(WorkflowError::Resume(_))), "{refused}");
    assert!(!fixture.folder.path().join("again.txt").exists());
    let end = fixture.agent.resume_workflow(resume(&end.run, Resume::Redo)).await.unwrap();
    assert_eq!((end.outcome, end.error), (Outcome::Done, None));
    assert_eq!(std::fs::read_to_string(fixture.folder.path().join("again.txt")).unwrap(), "again\n");
}
