//! Rendering a prompt file with guards and limits, compared with the bare engine on the same template and values.

use std::fmt::Write;
use std::sync::Arc;

use foreword_prompt::jinja::{RenderContext, Value};
use foreword_workspace::prompt_store::{PromptStore, TemplateCache};
use foreword_workspace::roots::Root;
use foreword_workspace::text_pool::{FileCache, PoolLimits, TextPool};
use minijinja::{Environment, UndefinedBehavior};

use crate::Outcome;
use crate::sample::prose;
use crate::table::Table;
use crate::timing::compare;

/// The maximum ratio to the bare engine.
const TARGET: f64 = 1.2;
const BYTES: usize = 2 * 1024;
const NAMES: [&str; 10] =
    ["user", "locale", "zone", "team", "project", "branch", "editor", "shell", "channel", "tone"];

pub(crate) fn measure(table: &mut Table) -> Outcome {
    table.section(
        "Warm render of a 2 KB Jinja file, 10 variables",
        "bare minijinja, strict, compiled beforehand",
    );
    let variables: String = NAMES.iter().fold(String::new(), |mut out, name| {
        // Writing to a String can't fail.
        let _ = writeln!(out, "The {name} is {{{{ {name} }}}}, unless told otherwise.");
        out
    });
    one(table, "variables only", &variables)?;
    let busy = "{% if locale == 'pt-PT' %}Olá{% else %}Hello{% endif %}, {{ user | upper }}.\n\
                {% for task in tasks %}- {{ loop.index }}. {{ task }}\n{% endfor %}";
    one(table, "and a condition, a filter, a loop of 5", &format!("{variables}{busy}"))
}

fn one(table: &mut Table, what: &str, head: &str) -> Outcome {
    let source = format!("{head}{}", prose(BYTES - head.len()));
    let context = NAMES.iter().map(|name| (*name, Value::from(format!("a value for {name}"))));
    let tasks = Value::from(vec!["sort", "weigh", "fold", "post", "file"]);
    let context = Value::from_pairs(context.chain([("tasks", tasks)]));

    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("ASSISTANT.md"), &source)?;
    let files = FileCache::new(Arc::new(TextPool::new(PoolLimits::default())), 1 << 20);
    let root = Root::open("prompts", folder.path())?;
    let store = PromptStore::new(root, Arc::new(files), Arc::new(TemplateCache::default()));
    let ours = RenderContext::new(context.clone(), "Assistant", "Agent");

    let mut engine = Environment::new();
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    engine.add_template("ASSISTANT.md", &source)?;
    let bare = || engine.get_template("ASSISTANT.md").and_then(|template| template.render(context.clone()));

    if store.render("ASSISTANT.md", &ours)? != bare()? {
        return Err("the store and the bare engine disagree".into());
    }
    table.compare(what, &compare(|| store.render("ASSISTANT.md", &ours), bare), Some(TARGET));
    Ok(())
}
