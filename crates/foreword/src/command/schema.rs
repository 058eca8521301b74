//! `foreword schema`: the JSON Schema of `foreword.yaml`, generated from the configuration's types.

use std::process::ExitCode;

use foreword_workspace::config::raw::RawConfig;

use crate::failure::Failure;
use crate::output::Output;

pub(crate) fn run(output: &Output) -> Result<ExitCode, Failure> {
    let mut schema = schemars::schema_for!(RawConfig);
    schema.insert("title".to_owned(), "foreword.yaml".into());
    output.json(schema.as_value())?;
    Ok(ExitCode::SUCCESS)
}
