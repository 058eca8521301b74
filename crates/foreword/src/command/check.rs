//! `foreword check`: parses everything and reports all problems. Writes nothing.

use std::process::ExitCode;

use foreword_workspace::check::{Finding, check};
use foreword_workspace::config::Config;
use foreword_workspace::config::mcp::McpTransport;
use serde_json::{Value, json};

use crate::failure::{Failure, Problem};
use crate::output::{BOLD, DIM, GREEN, Output, RED, YELLOW, problem_text, styled};
use crate::process_context::ProcessContext;
use crate::workspace_store::texts;

pub(crate) fn run(process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let (errors, warnings) = match process.open() {
        Ok(workspace) => {
            // An unreadable store is reported like any other problem.
            let (mut stored, mut errors) = (Vec::new(), Vec::new());
            for view in workspace.snapshot().of_all_agents() {
                match texts(&workspace, Some(&view.config.agent.name), process) {
                    Ok(texts) => stored.extend(texts),
                    Err(failure) => {
                        errors = failure.problems();
                        break;
                    }
                }
            }
            let found = check(&workspace, &stored, &process.now);
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
    parts.push(summary(&errors, &warnings, process));
    output.print(&parts.join("\n\n"))?;
    Ok(code)
}

/// Tool servers whose programs do not exist.
fn missing_programs(config: &Config) -> Vec<Problem> {
    let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let missing = |command: &str| {
        !command.contains('/') && folders.iter().all(|folder| !folder.join(command).is_file())
    };
    let problem = |(name, command): (&str, &str)| {
        let message =
            format!("`tools.mcp.{name}` starts `{}`, which is not on the PATH", command.escape_debug());
        let help = "install it, or use its full path; until then its tools are unavailable".to_owned();
        Problem::plain("missing_program", &message, Some(&help))
    };
    let programs = config.mcp.iter().filter_map(|(name, server)| match &server.transport {
        McpTransport::Stdio(program) if missing(&program.command) => {
            Some((&**name, program.command.as_str()))
        }
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

fn summary(errors: &[Problem], warnings: &[Problem], process: &ProcessContext) -> String {
    let count = |number: usize, what: &str| {
        if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
    };
    let place = styled(DIM, process.directory().display());
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
