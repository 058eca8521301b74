//! `foreword template`: the versions of the template of blueprint `template`. An invalid template is reported and not
//! stored; reading never creates a database.

use std::process::ExitCode;
use std::sync::Arc;

use foreword_agent::prompt::stored_changes::{template_changed, template_version};
use foreword_prompt::bracket::{DEFAULT_TEMPLATE, catalog};
use foreword_prompt::text::with_thousands;
use foreword_store::templates::{NewTemplate, TemplateRecord};
use foreword_workspace::document::DocumentError;
use foreword_workspace::template_problems::{TemplateProblems, template_notes, template_problems};
use foreword_workspace::workspace::Workspace;
use serde_json::{Value, json};

use crate::cli::stored::{TemplateCommand, TemplateSetArgs};
use crate::failure::{Failure, Problem};
use crate::output::table::{Align, Table};
use crate::output::text_diff::changes;
use crate::output::{BOLD, DIM, GREEN, Output, YELLOW, problem_text, styled, when};
use crate::process_context::ProcessContext;
use crate::text_input;
use crate::workspace_store::{WorkspaceStore, author, check_history_text, now, unless_damaged};

pub(crate) fn run(
    command: &TemplateCommand,
    process: &ProcessContext,
    output: &Output,
) -> Result<ExitCode, Failure> {
    match command {
        TemplateCommand::Get { version } => get(*version, process, output),
        TemplateCommand::Set(args) => set(args, process, output),
        TemplateCommand::History => history(process, output),
        TemplateCommand::Variables => variables(output),
    }
}

fn get(version: Option<u64>, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let stored = WorkspaceStore::open_existing(&workspace, process)?;
    let found = match (stored, version) {
        (Some(stored), Some(version)) => Some(stored.wait(stored.store.template_version(version))?),
        (Some(stored), None) => stored.wait(stored.store.template())?,
        (None, Some(version)) => return Err(nothing_stored(version)),
        (None, None) => None,
    };
    let (text, mut about) = match &found {
        Some(template) => (Arc::from(template.text.as_str()), template_version(template)),
        None => not_stored(&workspace)?,
    };
    if output.wants_json() {
        about["template"] = json!(text);
        output.json(&about)?;
    } else {
        output.print_exact(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The template used until one is stored.
fn not_stored(workspace: &Workspace) -> Result<(Arc<str>, Value), Failure> {
    let snapshot = workspace.snapshot();
    match &snapshot.config.prompt.template_file {
        Some(path) => {
            Ok((snapshot.file(path)?.text, json!({ "version": null, "source": "file", "origin": path })))
        }
        None => {
            Ok((DEFAULT_TEMPLATE.into(), json!({ "version": null, "source": "builtin", "origin": null })))
        }
    }
}

fn nothing_stored(version: u64) -> Failure {
    Failure::failed(
        format!("there is no template version `{version}`: none was stored yet"),
        "store one with `foreword template set FILE`",
    )
}

fn set(args: &TemplateSetArgs, process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    process.require_workspace()?;
    let config = Arc::clone(&workspace.snapshot().config);
    for words in args.author.iter().chain(&args.message) {
        check_history_text(words)?;
    }
    let input = text_input::read(&args.file, process)?;
    let snapshot = workspace.snapshot();
    let (place, dialect) = (workspace.dir(), config.template_dialect());
    let TemplateProblems { errors, warnings } =
        template_problems(&snapshot, place, &input.name, &input.text, dialect);
    show_warnings(&warnings, output);
    if !errors.is_empty() {
        return Err(Failure::Problems(errors));
    }
    for note in template_notes(&config, &input.text) {
        output.warn(&note);
    }
    if args.check {
        return checked(&warnings, output);
    }
    let stored = WorkspaceStore::open(&workspace, process)?;
    let before = unless_damaged(stored.wait(stored.store.template()), output)?;
    let new = NewTemplate {
        text: input.text.to_string(),
        author: args.author.clone().unwrap_or_else(|| author(&config)),
        message: args.message.clone(),
        at: now(process),
        expected: args.expect,
    };
    let template = stored.wait(stored.store.add_template(new))?;
    if before.as_ref().is_none_or(|before| before.version != template.version) {
        stored.wait(stored.store.add_events(&[template_changed(&template)]))?;
    }
    report_set(before.as_ref(), &template, &warnings, output)?;
    Ok(ExitCode::SUCCESS)
}

fn show_warnings(warnings: &[DocumentError], output: &Output) {
    if !output.wants_json() {
        for warning in warnings {
            output.print_stderr(&problem_text(&Problem::of_document(warning), &styled(YELLOW, "warning:")));
        }
    }
}

fn warnings_json(warnings: &[DocumentError]) -> Vec<Value> {
    warnings.iter().map(|warning| Problem::of_document(warning).json()).collect()
}

fn checked(warnings: &[DocumentError], output: &Output) -> Result<ExitCode, Failure> {
    if output.wants_json() {
        output.json(&json!({ "stored": false, "warnings": warnings_json(warnings) }))?;
    } else {
        output.print("The template is valid. Nothing was stored.")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report_set(
    before: Option<&TemplateRecord>,
    template: &TemplateRecord,
    warnings: &[DocumentError],
    output: &Output,
) -> Result<(), Failure> {
    let is_new = before.is_none_or(|before| before.version != template.version);
    if output.wants_json() {
        let mut out = template_version(template);
        out["template"] = json!(template.text);
        out["stored"] = json!(is_new);
        out["warnings"] = json!(warnings_json(warnings));
        return output.json(&out);
    }
    if !is_new {
        return output.print(&format!("This is already version {}. Nothing was stored.", template.version));
    }
    output.print(&format!("{} version {} of the template.", styled(GREEN, "Stored"), template.version))?;
    if let Some(before) = before {
        output.print(&changes(&before.text, &template.text))?;
    }
    output.print_stderr(&styled(
        DIM,
        "New conversations use it; existing ones keep theirs until they are compacted.",
    ));
    Ok(())
}

fn history(process: &ProcessContext, output: &Output) -> Result<ExitCode, Failure> {
    let workspace = process.open()?;
    let versions = match WorkspaceStore::open_existing(&workspace, process)? {
        Some(stored) => stored.wait(stored.store.template_history())?,
        None => Vec::new(),
    };
    if output.wants_json() {
        output.json(&json!({ "versions": versions.iter().map(template_version).collect::<Vec<_>>() }))?;
    } else if versions.is_empty() {
        output.print_stderr("No template stored yet. Store one with `foreword template set FILE`.");
    } else {
        let right = Align::Right;
        let mut table = Table::new(&[
            ("version", right),
            ("stored", Align::Left),
            ("by", Align::Left),
            ("characters", right),
            ("", Align::Left),
        ]);
        for one in &versions {
            table.row(vec![
                styled(BOLD, one.version),
                when(one.at),
                one.author.escape_debug().to_string(),
                with_thousands(one.text.chars().count()),
                one.message.as_deref().unwrap_or_default().escape_debug().to_string(),
            ]);
        }
        output.print(&table.render())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn variables(output: &Output) -> Result<ExitCode, Failure> {
    if output.wants_json() {
        output.json(&json!({ "variables": catalog() }))?;
    } else {
        let mut table = Table::new(&[("variable", Align::Left), ("", Align::Left)]);
        for entry in catalog() {
            table.row(vec![
                styled(BOLD, format!("[{}:{}]", entry.kind, entry.name)),
                entry.description.to_owned(),
            ]);
        }
        output.print(&table.render())?;
        output.print_stderr(&styled(DIM, "Also: [if type:name] … [else] … [endif], and [if !type:name]."));
    }
    Ok(ExitCode::SUCCESS)
}
