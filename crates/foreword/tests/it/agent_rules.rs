//! Seed 004: prompt files found by an agent's name, below a guarded root, in strict Jinja. Precedence, root, file
//! names, context and failures.

use serde_json::Value;

use crate::program::{Home, Ran};

fn agent(settings: &str) -> Home {
    let home = Home::new();
    configure(&home, settings);
    home
}

fn configure(home: &Home, settings: &str) {
    home.write(
        "foreword.yaml",
        format!("agent: {{ blueprint: agent, name: ChatAgent, class: Support }}\n{settings}"),
    );
}

/// The error that a refused run prints as JSON.
fn error_of(ran: &Ran) -> Value {
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.stderr);
    let output: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(output["error"], output["problems"][0]);
    assert!(output["error"]["help"].is_string(), "no way out: {output}");
    output["error"].clone()
}

fn error(home: &Home, args: &[&str]) -> Value {
    error_of(&home.run(&[&["--json", "build"], args].concat()))
}

#[test]
fn inline_instructions_precede_file_and_agent_name() {
    let home = agent("prompt: { instructions: Inline., instruction_file: chosen.md }");
    home.write(".agents/prompt/chosen.md", "Chosen.");
    home.write(".agents/prompt/CHAT_AGENT.md", "By name.");
    assert_eq!(home.succeed(&["build"]), "Inline.");
    configure(&home, "prompt: { instruction_file: chosen.md }");
    assert_eq!(home.succeed(&["build"]), "Chosen.");
    configure(&home, "");
    assert_eq!(home.succeed(&["build"]), "By name.");
}

#[test]
fn blank_inline_instructions_mean_no_prompt() {
    for blank in ["\"\"", "\"  \\n\""] {
        let home = agent(&format!("prompt: {{ instructions: {blank} }}"));
        home.write(".agents/prompt/CHAT_AGENT.md", "By name.");
        assert_eq!(home.succeed(&["build"]), "");
        let body = home.json(&["build", "--format", "anthropic"]);
        assert_eq!(body.get("system"), None, "an empty prompt is no system prompt: {body}");
    }
}

#[test]
fn instructions_that_are_null_count_as_not_set() {
    let home = agent("prompt: { instructions: null, instruction_file: null, prompts_dir: null }");
    home.write(".agents/prompt/CHAT_AGENT.md", "By name.");
    assert_eq!(home.succeed(&["build"]), "By name.");
}

#[test]
fn prompts_root_precedence_is_config_environment_default() {
    let home = agent("prompt: { prompts_dir: configured }");
    for root in ["configured", "from-environment", ".agents/prompt"] {
        home.write(&format!("{root}/CHAT_AGENT.md"), format!("From {root}."));
    }
    let build = |variable: Option<&str>| {
        let mut command = home.command(&["build"]);
        if let Some(directory) = variable {
            command.env("FOREWORD_PROMPTS_DIR", directory).env("HOME", home.outside());
        }
        Ran::of(command.output().unwrap()).stdout
    };
    assert_eq!(build(Some("from-environment")), "From configured.");
    configure(&home, "");
    assert_eq!(build(Some("from-environment")), "From from-environment.");
    let absolute = home.path().join("from-environment");
    assert_eq!(build(absolute.to_str()), "From from-environment.");
    assert_eq!(build(Some("~/home/from-environment")), "From from-environment.");
    assert_eq!(build(None), "From .agents/prompt.");
}

#[test]
fn file_name_is_the_agents_in_upper_snake_case() {
    let home = agent("");
    for (name, file) in [
        ("ChatAgent", "CHAT_AGENT.md"),
        ("chatagent", "CHAT_AGENT.md"),
        ("BillingReviewerAgent", "BILLING_REVIEWER_AGENT.md"),
        ("my-agent", "MY_AGENT.md"),
        ("HTTPServerAgent", "HTTP_SERVER_AGENT.md"),
        ("../etc/passwd", "ETC_PASSWD.md"),
        ("Café", "CAFÉ.md"),
    ] {
        home.write(&format!(".agents/prompt/{file}"), format!("I am {file}."));
        assert_eq!(home.succeed(&["build", "--agent", name]), format!("I am {file}."), "{name}");
    }
}

#[test]
fn template_context_is_available_whole_and_flattened() {
    let home = agent("");
    home.write(
        ".agents/prompt/CHAT_AGENT.md",
        "You are {{ agent_name }} ({{ agent_class }}).\n\
         User={{ user_id }} Locale={{ ctx.locale }} Account={{ context.account_id }}.",
    );
    let values = ["--context", "user_id=u-42", "locale=en-US", "account_id=acme"];
    assert_eq!(
        home.succeed(&[&["build"], &values[..]].concat()),
        "You are ChatAgent (Support).\nUser=u-42 Locale=en-US Account=acme."
    );
}

#[test]
fn reserved_names_win_over_the_callers() {
    let home = agent("");
    home.write(
        ".agents/prompt/CHAT_AGENT.md",
        "{{ agent_name }} {{ agent_class }} {{ ctx.agent_name }} {{ context.ctx }} {{ ctx.context }}",
    );
    let forged = ["--context", "agent_name=Evil", "agent_class=Evil", "ctx=1", "context=2"];
    assert_eq!(home.succeed(&[&["build"], &forged[..]].concat()), "ChatAgent Support Evil 1 2");
}

#[test]
fn context_arguments_override_the_context_file() {
    let home = agent("");
    home.write(".agents/prompt/CHAT_AGENT.md", "{{ a }} {{ b }} {{ list | length }} {{ n + 1 }} {{ s }}");
    home.write("context.yaml", "a: from file\nb: from file\nlist: [1, 2]\n");
    let args = ["build", "--context-file", "context.yaml", "--context", "b=here", "n=41", "s=\"41\""];
    assert_eq!(home.succeed(&args), "from file here 2 42 41");
}

#[test]
fn missing_file_is_a_resolution_error() {
    let home = agent("");
    home.write(".agents/prompt/OTHER.md", "");
    let by_name = error(&home, &[]);
    assert_eq!(by_name["code"], "resolution");
    assert!(by_name["message"].as_str().unwrap().starts_with("no file `CHAT_AGENT.md` in the prompts root"));
    configure(&home, "prompt: { instruction_file: absent.md }");
    let named = error(&home, &[]);
    assert_eq!(named["code"], "resolution");
    assert!(named["message"].as_str().unwrap().starts_with("no file `absent.md`"), "{named}");
}

#[test]
fn name_without_valid_file_name_fails_to_resolve() {
    let home = agent("");
    for name in ["", "..", "///"] {
        assert_eq!(error(&home, &["--agent", name])["code"], "resolution", "{name:?}");
    }
}

#[test]
fn file_outside_the_root_is_an_access_error() {
    let home = agent("");
    home.write(".agents/prompt/CHAT_AGENT.md", "");
    home.write(".agents/secret.md", "secret");
    home.link(".agents/prompt/link.md", "../secret.md");
    for path in ["../secret.md", "sub/../../secret.md", "/etc/passwd", "link.md"] {
        configure(&home, &format!("prompt: {{ instruction_file: \"{path}\" }}"));
        let error = error(&home, &[]);
        assert_eq!(error["code"], "access", "{path}");
        assert!(error["message"].as_str().unwrap().contains(path), "{error}");
    }
}

#[test]
fn invalid_jinja_is_a_template_error_with_position() {
    let home = agent("");
    for (text, line, column) in [
        ("Hello\n  {{ nobody }}", 2, 6),
        ("{{ ctx.nobody }}", 1, 4),
        ("{% if %}", 1, 7),
        ("{{ 'a' | no_such_filter }}", 1, 10),
        ("{% include 'absent.md' %}", 1, 12),
    ] {
        home.write(".agents/prompt/CHAT_AGENT.md", text);
        let error = error(&home, &[]);
        assert_eq!(error["code"], "template", "{text}");
        assert_eq!(error["file"], "CHAT_AGENT.md", "{text}");
        assert_eq!((&error["line"], &error["column"]), (&line.into(), &column.into()), "{text}: {error}");
    }
}

#[test]
fn include_stays_below_the_prompts_root() {
    let home = agent("");
    home.write(".agents/prompt/CHAT_AGENT.md", "{% include 'parts/tone.md' %}");
    home.write(".agents/prompt/parts/tone.md", "Be {{ tone }}.");
    assert_eq!(home.succeed(&["build", "--context", "tone=kind"]), "Be kind.");
    home.write("SECRET.md", "secret");
    for path in ["../../SECRET.md", "/etc/passwd"] {
        home.write(".agents/prompt/CHAT_AGENT.md", format!("one\n{{% include '{path}' %}}"));
        let error = error(&home, &[]);
        assert_eq!((&error["code"], &error["line"]), (&"template".into(), &2.into()), "{error}");
    }
}

#[test]
fn empty_root_variable_is_a_resolution_error() {
    let home = agent("");
    home.write(".agents/prompt/CHAT_AGENT.md", "By name.");
    for blank in ["", "  "] {
        let output = home.command(&["--json", "build"]).env("FOREWORD_PROMPTS_DIR", blank).output();
        let error = error_of(&Ran::of(output.unwrap()));
        assert_eq!(error["code"], "resolution");
        assert_eq!(error["message"], "`FOREWORD_PROMPTS_DIR` is set but empty");
    }
}

#[test]
fn rendered_agent_text_is_trimmed() {
    let home = agent("");
    home.write(".agents/prompt/CHAT_AGENT.md", "  two spaces before,\n\nand a line end behind\n");
    assert_eq!(home.succeed(&["build"]), "two spaces before,\n\nand a line end behind");
}
