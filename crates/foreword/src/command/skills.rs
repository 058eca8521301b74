//! `foreword skills`: the skills offered on an occasion and their texts, by the agent's own code.

use std::process::ExitCode;

use foreword_prompt::diagnostic::did_you_mean;
use foreword_prompt::text::with_thousands;
use foreword_prompt::tokens::Tokenizer;
use foreword_prompt::untrusted::display_line;
use foreword_workspace::skill_view::SkillView;
use foreword_workspace::skills::Skill;
use foreword_workspace::snapshot::Snapshot;
use serde_json::{Value, json};

use crate::cli::memory::PrincipalArgs;
use crate::cli::skills::{SkillsArgs, SkillsCommand};
use crate::failure::Failure;
use crate::name_hints::Names;
use crate::occasion::{request, unknown_name_warnings};
use crate::output::table::{Align, Table};
use crate::output::{BOLD, DIM, Output, counted, styled};
use crate::process_context::ProcessContext;

const MAX_DESCRIPTION_CHARS: usize = 1_024;

pub(crate) fn run(args: &SkillsArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    match &args.command {
        None => list(&args.who, process, output)?,
        Some(SkillsCommand::List { who }) => list(who, process, output)?,
        Some(SkillsCommand::Show { name, who }) => show(name, who, process, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(who: &PrincipalArgs, process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    with_skills(who, process, output, |view| {
        let skills = view.skills();
        let snapshot = view.snapshot;
        let broken = broken(snapshot);
        if output.wants_json() {
            let skills: Vec<Value> = skills.iter().map(|skill| entry(skill, view)).collect();
            return output.json(&json!({ "trust": view.trust, "skills": skills, "broken": broken }));
        }
        if skills.is_empty() {
            output.print_stderr("No skills. A skill is a folder with a file: skills/<name>/SKILL.md");
        } else {
            let mut table = Table::new(&[
                ("skill", Align::Left),
                ("for", Align::Left),
                ("tokens", Align::Right),
                ("when to use it", Align::Left),
            ]);
            for skill in &skills {
                table.row(vec![
                    styled(BOLD, &skill.name),
                    audience(skill).to_owned(),
                    with_thousands(tokens(skill, view)),
                    display_line(&skill.description, MAX_DESCRIPTION_CHARS),
                ]);
            }
            output.print(&table.render())?;
        }
        if broken > 0 {
            let what = format!("{} can't be used: see `foreword check`", counted(broken, "skill"));
            output.warn(&what);
        }
        Ok(())
    })
}

fn show(name: &str, who: &PrincipalArgs, process: &ProcessContext, output: &Output) -> Result<(), Failure> {
    with_skills(who, process, output, |view| {
        let skills = view.skills();
        let Some(skill) = skills.iter().find(|skill| skill.name == name) else {
            let near = did_you_mean(name, skills.iter().map(|skill| skill.name.as_str()));
            let help = near
                .map_or_else(|| "see `foreword skills`".to_owned(), |near| format!("did you mean `{near}`?"));
            let message =
                format!("unknown skill `{}` for `{}`", display_line(name, MAX_DESCRIPTION_CHARS), view.trust);
            return Err(Failure::failed(message, help));
        };
        if output.wants_json() {
            let mut out = entry(skill, view);
            out["text"] = json!(view.text(skill));
            return output.json(&out);
        }
        output.print_stderr(&styled(DIM, format!("{}, for {}", skill.path, audience(skill))));
        output.print(&view.text(skill))
    })
}

/// Calls `then` with the skills a user sees.
fn with_skills(
    who: &PrincipalArgs,
    process: &ProcessContext,
    output: &Output,
    then: impl FnOnce(&SkillView<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let workspace = process.open()?;
    let snapshot = workspace.snapshot();
    for warning in unknown_name_warnings(who.user.as_deref(), who.situation.as_deref(), &snapshot.config) {
        output.warn(&warning);
    }
    Names::from(&who.occasion()).warn(&snapshot.config, output);
    let request = request(&who.occasion(), &workspace, process)?;
    let who = request.principal(&snapshot.config);
    let user = who.user.as_ref().map(|user| &*user.name);
    then(&SkillView { snapshot: &snapshot, user, trust: who.trust.effective() })
}

fn broken(snapshot: &Snapshot) -> u64 {
    let own = |user: &foreword_workspace::config::User| snapshot.user_skills(&user.name).problems.len();
    let own: usize = snapshot.config.users.iter().map(own).sum();
    (own + snapshot.skills().problems.len()) as u64
}

fn entry(skill: &Skill, view: &SkillView<'_>) -> Value {
    json!({
        "name": skill.name, "description": skill.description, "path": skill.path, "for": audience(skill),
        "tokens": tokens(skill, view),
    })
}

/// Who may use a skill: everybody, or one user.
fn audience(skill: &Skill) -> &str {
    match skill.path.split('/').collect::<Vec<_>>().as_slice() {
        ["users", user, ..] => user,
        _ => "all users",
    }
}

fn tokens(skill: &Skill, view: &SkillView<'_>) -> usize {
    Tokenizer::Estimate.get().count(&view.text(skill))
}
