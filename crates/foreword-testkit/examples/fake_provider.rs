//! A provider of models to try clients on: `cargo run -p foreword-testkit --example fake_provider -- 8399`. It calls the
//! first tool it is offered once, if the question says `use a tool`, and otherwise repeats what it was told last.

use std::io::{self, Write as _};

use foreword_core::message::Usage;
use foreword_testkit::{FakeProvider, Received, Reply, Script};
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).unwrap_or_default().parse().unwrap_or(0);
    let fake = FakeProvider::start_on(port, Script::answering(answer))?;
    writeln!(io::stdout(), "{}", fake.base_url())?;
    loop {
        std::thread::park();
    }
}

fn answer(request: &Received) -> Reply {
    let said = request.conversation();
    let last = said.lines().last().unwrap_or_default();
    if last.contains("use a tool")
        && let Some(name) = first_tool(&request.json())
    {
        return Reply::text("One moment.").and_tool_call(name, json!({ "query": "birthday" }));
    }
    let usage = Usage { input: 21, output: 7, cache_read: 100, ..Usage::default() };
    Reply::text(format!("You said: {last}")).usage(usage)
}

/// In either dialect.
fn first_tool(request: &Value) -> Option<String> {
    let tool = request["tools"].get(0)?;
    let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str());
    name.map(str::to_owned)
}
