//! A fake model provider for trying clients: `cargo run -p foreword-testkit --example fake_provider -- 8399`. The
//! prompt `use a tool` makes it call the first tool of the request; `show me the marks` makes it count the cache
//! breakpoints; `refuse with 429`, or another status, makes it answer with that status. Otherwise it echoes the last
//! message.

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
    if let Some((_, status)) = last.split_once("refuse with ") {
        let status = status.trim().parse().unwrap_or(500);
        let why = if status == 400 { "prompt is too long: 5000 tokens > 4096 maximum" } else { "not now" };
        return Reply::status(status).message(why);
    }
    if last.contains("show me the marks") {
        let marks = request.text().matches("\"cache_control\"").count();
        return Reply::text(format!("You marked {marks} places."));
    }
    let usage = Usage { input: 21, output: 7, cache_read: 100, ..Usage::default() };
    Reply::text(format!("You said: {last}")).usage(usage)
}

/// The name of the first tool, in either dialect.
fn first_tool(request: &Value) -> Option<String> {
    let tool = request["tools"].get(0)?;
    let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str());
    name.map(str::to_owned)
}
