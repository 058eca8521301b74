//! Workflows that run: their steps in order, what each sees of those before, and what is refused before anything is
//! done.

use foreword_agent::background::workflows::{RunEnd, RunProgress, StartWorkflow, StepKind};
use foreword_agent::conversation::inbound::TurnOrigin;
use foreword_agent::error::AgentError;
use foreword_core::turn_journal::Outcome;
use foreword_testkit::{Reply, Script, eventually};
use serde_json::{Map, Value, json};

use crate::fixture::{Fixture, Setting, alice};

/// A workflow of three steps that see each other.
pub(crate) const REPORT: &str = "\
name: report
description: Collects what is known of somebody and reports it.
parameters:
  - { name: who, required: true, description: Whom. }
  - { name: words, type: integer, default: 20 }
  - { name: tone }
steps:
  - name: search
    tool: memory_search
    arguments: { query: '{{ who }} birthday' }
  - prompt: |
      Say what this tells of {{ who }} in {{ words }} words{% if tone %}, in a {{ tone }} tone{% endif %}:
      {{ previous }}
  - name: check
    prompt: 'Is it true that {{ steps.step_2.output }}'
output: '{{ who }}: {{ steps.check.output }} ({{ steps[\"step-2\"].output }})'
";

/// An agent in whose workspace these workflows stand.
pub(crate) async fn fixture(script: impl Into<Script>, files: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::set(script, Setting::default(), "").await;
    furnish(&fixture, files);
    fixture
}

pub(crate) fn furnish(fixture: &Fixture, files: &[(&str, &str)]) {
    let folder = fixture.folder.path().join("workflows");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(format!("{name}.yaml")), text).unwrap();
    }
    fixture.workspace.refresh();
    let snapshot = fixture.workspace.snapshot();
    let problems = &snapshot.workflows().problems;
    assert!(problems.is_empty(), "{problems:?}");
}

pub(crate) fn start(name: &str, parameters: Value, occasion: TurnOrigin) -> StartWorkflow {
    let parameters = parameters.as_object().cloned().unwrap_or_else(Map::new);
    StartWorkflow { parameters, ..StartWorkflow::new(name, occasion) }
}

/// How the run of a workflow ends that begins.
pub(crate) async fn run(fixture: &Fixture, name: &str, parameters: Value) -> RunEnd {
    fixture.agent.run_workflow(start(name, parameters, alice())).await.unwrap()
}

/// Why a workflow does not begin.
pub(crate) async fn refused(fixture: &Fixture, start: StartWorkflow) -> String {
    match fixture.agent.run_workflow(start).await.unwrap_err() {
        AgentError::Workflow(error) => error.to_string(),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn steps_run_in_order_and_see_earlier_outputs() {
    let script = [Reply::text("Carol was born on 14 March."), Reply::text("Yes.")];
    let fixture = fixture(script, &[("report", REPORT)]).await;
    let mut changes = fixture.agent.watch_workflows();
    let end = run(&fixture, "report", json!({ "who": "Carol", "tone": "dry" })).await;
    assert_eq!((end.outcome, end.error), (Outcome::Done, None));
    assert_eq!(end.output, "Carol: Yes. (Carol was born on 14 March.)");
    let names: Vec<(&str, bool)> = end.steps.iter().map(|step| (step.name.as_str(), step.done)).collect();
    assert_eq!(names, [("search", true), ("step-2", true), ("check", true)]);

    let requests = fixture.provider.requests();
    let first = requests[0].conversation();
    assert!(first.contains("of Carol in 20 words, in a dry tone:"), "{first}");
    assert!(first.contains("14 March, loves peonies"), "{first}");
    assert!(requests[1].conversation().contains("Is it true that Carol was born on 14 March."));

    let log = fixture.log().await;
    let about = |name: &str| log.iter().find(|event| event.event.event_type.to_string() == name).unwrap();
    let started = about("workflow_started").event.metadata.clone().unwrap();
    assert_eq!((&started["workflow"], &started["steps"]), (&json!("report"), &json!(3)));
    let ended = &about("workflow_ended").event;
    let metadata = ended.metadata.clone().unwrap();
    assert_eq!((&metadata["outcome"], &metadata["steps"]), (&json!("done"), &json!(3)));
    assert!(ended.duration_ms.is_some() && metadata["run"] == started["run"]);

    let mut kinds = Vec::new();
    while let Ok(progress) = changes.try_recv() {
        if let RunProgress::StepStarted { number, of, kind, .. } = progress {
            kinds.push((number, of, kind));
        }
    }
    let tool = StepKind::Tool("memory_search".to_owned());
    assert_eq!(kinds, [(1, 3, tool), (2, 3, StepKind::Prompt), (3, 3, StepKind::Prompt)]);
}

#[tokio::test]
async fn invalid_parameters_are_refused_before_any_step() {
    let fixture = fixture(Script::default(), &[("report", REPORT)]).await;
    for (given, problem) in [
        (json!({}), "`who` (string) is missing"),
        (json!({ "who": null }), "`who` (string) is missing"),
        (json!({ "who": "Carol", "wrods": 3 }), "`wrods` is not a parameter; did you mean `words`?"),
        (json!({ "who": "Carol", "words": "many" }), "`words` takes a whole number, not the string `many`"),
        (json!({ "who": "Carol", "words": 2.5 }), "`words` takes a whole number, not the number `2.5`"),
        (json!({ "who": ["Carol"] }), "`who` takes a string, not a list"),
    ] {
        let refusal = refused(&fixture, start("report", given.clone(), alice())).await;
        let expected = format!(
            "`report` was not run, its parameters do not fit:\n- {problem}\nIt takes `who, words?, tone?`."
        );
        assert_eq!(refusal, expected, "{given}");
    }
    assert_eq!(fixture.store.workflow_runs(Default::default(), 10).await.unwrap(), []);
    assert!(fixture.provider.requests().is_empty());
}

#[tokio::test]
async fn model_runs_a_workflow_from_the_catalogue() {
    let blueprint = "agent: { name: Ada, model: anthropic/claude-haiku-4-5, blueprint: vm }\n";
    let script = Script::from([
        Reply::tool_call("workflow_run", json!({ "name": "greet", "parameters": "{\"who\": \"bob\"}" })),
        Reply::text("Hello, bob!"),
        Reply::text("It said hello."),
    ]);
    let fixture = Fixture::set(script, Setting::default(), blueprint).await;
    let greet = "name: greet\ndescription: Says hello.\nparameters: [{ name: who, required: true }, { name: how }]\n\
                 steps: [{ prompt: 'Say hello to {{ who }}.' }]\n";
    furnish(&fixture, &[("greet", greet)]);
    let seen = fixture.say("c-1", alice(), "greet bob").await;
    assert_eq!((seen.text().as_str(), seen.ending()), ("It said hello.", (Outcome::Done, None)));
    assert_eq!(seen.results(), [("workflow_run", "Hello, bob!", false)]);
    let system = fixture.provider.requests()[0].json()["system"].to_string();
    assert!(system.contains("- **greet** (who, how?): Says hello."), "{system}");
    assert!(system.contains("Run one with workflow_run(name, parameters)"), "{system}");
    let tools = fixture.provider.requests()[0].json()["tools"].to_string();
    assert!(tools.contains("workflow_run"), "{tools}");
    let (run, _) = only_run(&fixture).await;
    assert_eq!((run.conversation.unwrap().as_str(), run.started_by.as_deref()), ("c-1", Some("alice")));
}

pub(crate) async fn only_run(
    fixture: &Fixture,
) -> (foreword_store::workflow_runs::WorkflowRun, Vec<foreword_store::workflow_runs::WorkflowStepRecord>) {
    let runs = fixture.store.workflow_runs(Default::default(), 10).await.unwrap();
    assert_eq!(runs.len(), 1, "{runs:?}");
    fixture.store.workflow_run(&runs[0].id).await.unwrap()
}

#[tokio::test]
async fn model_sees_the_failed_step_and_earlier_outputs() {
    let script =
        Script::from([Reply::tool_call("workflow_run", json!({ "name": "look" })), Reply::text("I see.")]);
    let look = "name: look\ndescription: Looks.\nsteps:\n  - { name: find, tool: memory_search, arguments: { query: Carol } }\n  \
                - { name: read, tool: memory_get, arguments: { path: private/gone.md } }\n";
    let fixture = fixture(script, &[("look", look)]).await;
    let seen = fixture.say("c-1", alice(), "look").await;
    let (_, result, failed) = seen.results()[0];
    assert!(failed && result.contains("failed at step 2 of 2 (`read`): "), "{result}");
    assert!(result.contains("Done before that: `find`."), "{result}");
}

#[tokio::test]
async fn recursive_workflow_is_refused_with_the_chain() {
    let again = "name: again\ndescription: Goes round.\nsteps: [{ prompt: Run the workflow again. }]\n";
    let other = "name: other\ndescription: Goes round too.\nsteps: [{ tool: workflow_run, arguments: { name: again } }]\n";
    let script = Script::answering(|request| {
        let said = request.conversation();
        let last = said.rfind("would run within itself").or_else(|| said.rfind("failed at"));
        match (last, said.contains("Goes round")) {
            (Some(_), _) => Reply::text("It can't."),
            (None, _) if said.contains("by way of other") => {
                Reply::tool_call("workflow_run", json!({ "name": "other" }))
            }
            (None, _) => Reply::tool_call("workflow_run", json!({ "name": "again" })),
        }
    });
    let fixture = fixture(script, &[("again", again), ("other", other)]).await;
    let end = run(&fixture, "again", json!({})).await;
    assert_eq!((end.outcome, end.output.as_str()), (Outcome::Done, "It can't."));
    let sent = fixture.provider.requests().last().unwrap().conversation();
    assert!(sent.contains("the workflow `again` would run within itself: again → again"), "{sent}");
    assert_eq!(fixture.store.workflow_runs(Default::default(), 10).await.unwrap().len(), 1);

    // By way of another: `other` runs `again`, whose model asks for `again` once more.
    let end = run(&fixture, "other", json!({})).await;
    assert_eq!(end.outcome, Outcome::Done);
    let sent = fixture.provider.requests().last().unwrap().conversation();
    assert!(sent.contains("would run within itself: other → again → again"), "{sent}");
}

#[tokio::test]
async fn workflows_nest_four_levels_deep() {
    let deep = |number: u32| {
        let next = number + 1;
        format!(
            "name: w{number}\ndescription: Goes deeper.\nsteps: [{{ tool: workflow_run, arguments: {{ name: w{next} }} }}]\n"
        )
    };
    let last = "name: w5\ndescription: The last.\nsteps: [{ prompt: Say hello. }]\n";
    let files: Vec<String> = (1..5).map(deep).collect();
    let files: Vec<(&str, &str)> =
        vec![("w1", &files[0]), ("w2", &files[1]), ("w3", &files[2]), ("w4", &files[3]), ("w5", last)];
    let fixture = fixture([Reply::text("Hello.")], &files).await;
    assert_eq!(run(&fixture, "w2", json!({})).await.output, "Hello.");
    let end = run(&fixture, "w1", json!({})).await;
    let error = end.error.unwrap().for_record().clone();
    assert!(error.contains("at most 4 within each other: w1 → w2 → w3 → w4 → w5"), "{error}");
    assert_eq!(fixture.provider.requests().len(), 1);
}

#[tokio::test]
async fn run_id_is_run_once() {
    let greet = "name: greet\ndescription: Says hello.\nsteps: [{ prompt: Say hello. }]\n";
    let fixture = fixture(Script::default().then_always(Reply::text("Hello.")), &[("greet", greet)]).await;
    let node = fixture.another(Setting::default()).await;
    let id = Some("run-of-monday".parse().unwrap());
    let start = || StartWorkflow { run: id.clone(), ..start("greet", json!({}), alice()) };
    let (one, other) = tokio::join!(fixture.agent.run_workflow(start()), node.agent.run_workflow(start()));
    let third = fixture.agent.run_workflow(start()).await.unwrap();
    for end in [one.unwrap(), other.unwrap(), third] {
        assert_eq!((end.outcome, end.output.as_str()), (Outcome::Done, "Hello."));
    }
    assert_eq!(fixture.provider.requests().len(), 1);
}

#[tokio::test]
async fn cancelled_turn_cancels_its_run() {
    let script =
        Script::from([Reply::tool_call("workflow_run", json!({ "name": "slow" })), Reply::silence()]);
    let slow =
        "name: slow\ndescription: Takes long.\nsteps: [{ prompt: Think. }, { prompt: Think again. }]\n";
    let fixture = fixture(script, &[("slow", slow)]).await;
    let receipt = fixture.send("c-1", alice(), "think").await;
    fixture.provider.until(|counts| counts.requests == 2).await;
    fixture.agent.cancel(&"c-1".parse().unwrap());
    let seen = fixture.follow(receipt).await;
    assert_eq!(seen.ending().0, Outcome::Cancelled);
    eventually(async || {
        let (run, _) = only_run(&fixture).await;
        if run.state.to_string() == "cancelled" { Ok(()) } else { Err(run) }
    })
    .await;
    assert_eq!(fixture.provider.requests().len(), 2, "nothing it started goes on");
}
