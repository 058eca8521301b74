//! `foreword check`: parse everything and report. Nothing is written, and one problem does not hide the next.

use std::process::ExitCode;

use foreword_workspace::config::Config;
use foreword_workspace::config::mcp::McpReach;
use foreword_workspace::inspect::{Finding, inspect};
use serde_json::{Value, json};

use crate::failure::{Failure, Problem};
use crate::output::{BOLD, DIM, GREEN, Output, RED, YELLOW, problem_text, styled};
use crate::stored::texts;
use crate::world::World;

pub(crate) fn run(world: &World, output: &Output) -> Result<ExitCode, Failure> {
    let (errors, warnings) = match world.open() {
        Ok(workspace) => {
            // A store that can't be read is one problem among others.
            let (mut stored, mut errors) = (Vec::new(), Vec::new());
            for view in workspace.snapshot().of_all_agents() {
                match texts(&workspace, Some(&view.config.agent.name), world) {
                    Ok(texts) => stored.extend(texts),
                    Err(failure) => {
                        errors = failure.problems();
                        break;
                    }
                }
            }
            let found = inspect(&workspace, &stored, &world.now);
            errors.extend(problems(&found.errors));
            let mut warnings = problems(&found.warnings);
            warnings.extend(missing_programs(&workspace.snapshot().config));
            (errors, warnings)
        }
        Err(Failure::Refused(error)) => (Failure::Refused(error).problems(), Vec::new()),
        Err(other) => return Err(other),
    };
    let code = if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(3) };
    if output.wants_json() {
        let list = |problems: &[Problem]| problems.iter().map(Problem::json).collect::<Vec<Value>>();
        output.json(&json!({ "errors": list(&errors), "warnings": list(&warnings) }))?;
        return Ok(code);
    }
    let mut parts: Vec<String> = Vec::new();
    parts.extend(errors.iter().map(|problem| problem_text(problem, &styled(RED, "error:"))));
    parts.extend(warnings.iter().map(|problem| problem_text(problem, &styled(YELLOW, "warning:"))));
    parts.push(summary(&errors, &warnings, world));
    output.print(&parts.join("\n\n"))?;
    Ok(code)
}

/// The servers of tools whose programs are not there.
fn missing_programs(config: &Config) -> Vec<Problem> {
    let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let missing = |command: &str| {
        !command.contains('/') && folders.iter().all(|folder| !folder.join(command).is_file())
    };
    let problem = |(name, command): (&str, &str)| {
        let message =
            format!("`tools.mcp.{name}` starts `{}`, which is not on the PATH", command.escape_debug());
        let help = "install it, or write its whole path; until then its tools are not there".to_owned();
        Problem::plain("missing_program", &message, Some(&help))
    };
    let programs = config.mcp.iter().filter_map(|(name, server)| match &server.reach {
        McpReach::Program(program) if missing(&program.command) => Some((&**name, program.command.as_str())),
        _ => None,
    });
    programs.map(problem).collect()
}

fn problems(findings: &[Finding]) -> Vec<Problem> {
    let of = |finding: &Finding| match finding {
        Finding::Error(error) => Problem::of(error),
        Finding::Note(document) => Problem::of_document(document),
        Finding::Remark { code, message, help } => Problem::plain(code, message, help.as_ref()),
    };
    findings.iter().map(of).collect()
}

fn summary(errors: &[Problem], warnings: &[Problem], world: &World) -> String {
    let count = |number: usize, what: &str| {
        if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
    };
    let place = styled(DIM, world.directory().display());
    match (errors.len(), warnings.len()) {
        (0, 0) => format!("{} {place}", styled(GREEN, "No problems found in")),
        (errors, warnings) => {
            format!(
                "{} in {place}",
                styled(BOLD, format!("{}, {}", count(errors, "error"), count(warnings, "warning")))
            )
        }
    }
}
