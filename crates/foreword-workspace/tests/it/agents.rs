//! Several agents in a workspace: their own settings, layers and files, with the same trust rules.

use std::sync::Arc;

use foreword_prompt::stored::{StoredLayer, StoredTexts};
use foreword_prompt::trust::Trust;
use foreword_workspace::check::check;
use foreword_workspace::config::Config;
use foreword_workspace::memory_index::{Reader, read_file};
use foreword_workspace::request::Request;
use foreword_workspace::skill_view::SkillView;
use foreword_workspace::speaker::Speaker;
use foreword_workspace::workspace::{RefreshOutcome, Workspace};

use crate::snapshots::open;
use crate::workspace_folder::Folder;

const CONFIG: &str = "\
agent: { name: Ada, model: offline/echo, description: Knows everybody. }
users:
  - { name: alice, trust: full }
  - { name: bob, trust: inner }
  - { name: carol, trust: familiar }
agents:
  clerk:
    description: Answers letters.
    tools: { disabled: [bash], trust: { read_file: full } }
    limits: { rounds: 3 }
  researcher: { blueprint: vm, model: anthropic/claude-haiku-4-5 }
  keeper: { blueprint: sovereign, files: staff/keeper }
";

fn config(yaml: &str) -> Config {
    Config::parse("foreword.yaml", yaml).unwrap()
}

fn request(user: &str, agent: Option<&str>) -> Request {
    let now = "2026-03-14T12:00[UTC]".parse().unwrap();
    let (user, agent) = (Some(user.into()), agent.map(Into::into));
    Request { speaker: Speaker { user, agent, ..Speaker::default() }, ..Request::at(now, [7; 16]) }
}

fn text(workspace: &Workspace, user: &str, agent: Option<&str>) -> String {
    workspace.build(&request(user, agent)).unwrap().prompt.text()
}

#[test]
fn agents_inherit_settings_and_disabled_tools() {
    let yaml = format!("{CONFIG}tools: {{ disabled: [write_file] }}\n");
    let config = config(&yaml);
    let clerk = config.other_agent("clerk").unwrap();
    let has = |config: &Config, tool: &str| config.tools.iter().any(|known| known.name == tool);
    assert_eq!((&*clerk.agent.model, clerk.limits.rounds), ("offline/echo", 3));
    assert_eq!(clerk.limits.tool_calls, config.limits.tool_calls);
    assert!(!has(clerk, "bash") && !has(clerk, "write_file") && has(clerk, "read_file"));
    assert!(has(&config, "bash") && !has(&config, "write_file"));
    let researcher = config.other_agent("Researcher").unwrap();
    assert_eq!(&*researcher.agent.model, "anthropic/claude-haiku-4-5");
    assert_eq!(&*researcher.agent.soul, "researcher");
    let names: Vec<&str> = config.roster.members().iter().map(|member| &*member.name).collect();
    assert_eq!(names, ["Ada", "clerk", "researcher", "keeper"]);
}

#[test]
fn hand_over_tool_needs_several_agents_and_lists_them() {
    let alone = config("agent: { name: Ada }");
    assert!(!alone.tools.iter().any(|tool| tool.name == "hand_over"));
    let config = config(CONFIG);
    let clerk = config.other_agent("clerk").unwrap();
    let tool = clerk.tools.iter().find(|tool| tool.name == "hand_over").unwrap();
    assert!(tool.description.contains("`Ada`: Knows everybody.") && !tool.description.contains("`clerk`"));
    assert!(tool.description.contains("`researcher`: no description."), "{}", tool.description);
}

#[test]
fn invalid_agents_are_refused_at_their_position() {
    let check = |yaml: &str, line: u32, message: &str| {
        let problems = Config::parse("foreword.yaml", yaml).unwrap_err();
        let found = problems.iter().find(|problem| problem.message.contains(message));
        let found = found.unwrap_or_else(|| panic!("{message}: {problems:?}"));
        assert_eq!(found.at.line as u32, line, "{yaml}: {found:?}");
        assert!(found.help.is_some(), "{found:?}");
    };
    check("agents:\n  \"a/b\": {}\n", 2, "`a/b` is not a valid agent name");
    check("agents:\n  ok: {}\n  assistant: {}\n", 3, "is already configured in `agent`");
    check("agents:\n  clerk: {}\n  Clerk: {}\n", 3, "have the same name");
    check("agents:\n  clerk: { files: ../elsewhere }\n", 2, "it leaves the workspace");
    check("agents:\n  clerk: { files: .foreword/x }\n", 2, "it is a reserved folder");
    check("agents:\n  clerk:\n    blueprint: gatewy\n", 3, "there is no blueprint `gatewy`");
    check("agents:\n  clerk: { model: gpt }\n", 2, "has no provider prefix");
    check("agents:\n  clerk:\n    tools: { disabled: [bsh] }\n", 3, "there is no tool `bsh`");
    let twice =
        Config::parse("foreword.yaml", "tools: { disabled: [bsh] }\nagents: { clerk: {} }\n").unwrap_err();
    assert_eq!(twice.len(), 1, "{twice:?}");
}

#[test]
fn agents_prefer_files_in_their_own_folder() {
    let folder = Folder::with(&[
        ("foreword.yaml", CONFIG),
        ("SOUL.md", "I am the house."),
        ("AGENTS.md", "Be brief."),
        ("agents/clerk/SOUL.md", "I write letters."),
        ("agents/clerk/users/alice/USER.md", "Alice likes formal letters."),
    ]);
    let workspace = open(&folder);
    let clerk = text(&workspace, "alice", Some("clerk"));
    assert!(clerk.contains("I write letters.") && !clerk.contains("I am the house."), "{clerk}");
    assert!(clerk.contains("Be brief.") && clerk.contains("formal letters"), "{clerk}");
    let first = text(&workspace, "alice", None);
    assert!(first.contains("I am the house.") && !first.contains("I write letters."), "{first}");
    let built = workspace.build(&request("alice", Some("CLERK"))).unwrap();
    assert_eq!(&*built.occasion.agent, "clerk");
    assert_eq!(built.dependencies.personal_to.as_deref(), Some("alice"));
}

#[test]
fn new_files_in_an_agent_folder_are_detected() {
    let folder = Folder::with(&[("foreword.yaml", CONFIG), ("SOUL.md", "I am the house.")]);
    let workspace = open(&folder);
    assert!(text(&workspace, "alice", Some("clerk")).contains("I am the house."));
    assert_eq!(workspace.refresh(), RefreshOutcome::Unchanged);
    folder.write("agents/clerk/SOUL.md", "I write letters.");
    assert!(text(&workspace, "alice", Some("clerk")).contains("I am the house."));
    assert_eq!(workspace.refresh(), RefreshOutcome::Changed { sections: Vec::new(), files: true });
    assert!(text(&workspace, "alice", Some("clerk")).contains("I write letters."));
}

#[test]
fn agent_folder_does_not_bypass_trust() {
    let yaml = format!(
        "{CONFIG}prompt: {{ files: [{{ path: notes.md, trust: full }}, {{ path: USER.md, per_user: true, trust: inner }}] }}\n"
    );
    let folder = Folder::with(&[
        ("foreword.yaml", &yaml),
        ("agents/clerk/notes.md", "the clerk's secret"),
        ("agents/clerk/users/alice/USER.md", "alice alone"),
        ("agents/clerk/memory/private/plan.md", "a plan"),
    ]);
    let workspace = open(&folder);
    for user in ["bob", "carol"] {
        let seen = text(&workspace, user, Some("clerk"));
        assert!(!seen.contains("secret") && !seen.contains("alice alone"), "{seen}");
    }
    assert!(text(&workspace, "alice", Some("clerk")).contains("the clerk's secret"));
    let view = workspace.snapshot().of_agent(Some("clerk")).unwrap();
    let bob = Reader { user: Some("bob".into()), ..Reader::of(foreword_prompt::trust::Trust::Inner) };
    for path in [
        "notes.md",
        "agents/clerk/notes.md",
        "agents/clerk/users/alice/USER.md",
        "agents/clerk/memory/private/plan.md",
    ] {
        assert!(read_file(&view, &bob, path).unwrap().is_none(), "{path}");
    }
}

#[test]
fn agent_file_rules_only_raise_trust() {
    let yaml = "\
prompt: { files: [{ path: MEMORY.md, trust: full }] }
agents:
  clerk: { prompt: { files: [{ path: MEMORY.md, trust: public }, { path: house.md, trust: full }] } }
  reader: { prompt: { files: [] } }
";
    let config = config(yaml);
    for agent in config.all_agents() {
        for path in ["MEMORY.md", "house.md", "agents/clerk/house.md", "agents/reader/MEMORY.md"] {
            let needed = agent.required_trust(path, Some("bob"));
            assert!(
                !needed.permits(foreword_prompt::trust::Trust::Inner, foreword_prompt::trust::Trust::Public),
                "{path}"
            );
        }
    }
}

#[test]
fn links_in_agent_folders_respect_trust() {
    let folder = Folder::with(&[("foreword.yaml", CONFIG), ("memory/private/plan.md", "the plan")]);
    std::fs::create_dir_all(folder.path().join("agents/clerk")).unwrap();
    let link = |target: &str, at: &str| {
        std::os::unix::fs::symlink(target, folder.path().join("agents/clerk").join(at)).unwrap();
    };
    link("../../memory/private/plan.md", "SOUL.md");
    link("/etc/hostname", "AGENTS.md");
    let workspace = open(&folder);
    let built = workspace.build(&request("carol", Some("clerk"))).unwrap();
    let refused = built.sources.failures[0].error.to_string();
    assert!(refused.contains("AGENTS.md") && refused.contains("leads out of the root"), "{refused}");
    std::fs::remove_file(folder.path().join("agents/clerk/AGENTS.md")).unwrap();
    workspace.refresh();
    let carol = text(&workspace, "carol", Some("clerk"));
    assert!(!carol.contains("the plan"), "{carol}");
}

#[test]
fn agents_of_one_blueprint_have_separate_layers() {
    let yaml = "agent: { name: Ada, blueprint: sovereign }\nagents: { keeper: {} }\nusers: [{ name: alice, trust: full }]\n";
    let folder = Folder::with(&[("foreword.yaml", yaml)]);
    let workspace = open(&folder);
    let stored = |blueprint: &str, words: &str| {
        let layer = StoredLayer { version: 2, text: words.into(), is_default: false };
        let six = foreword_prompt::layer::LayerId::parse("6").unwrap();
        Some(Arc::new(StoredTexts::new(blueprint, None, [(six, layer)].into())))
    };
    let (first, keeper) = (stored("sovereign", "FIRST WORDS"), stored("sovereign (keeper)", "KEEPERS WORDS"));
    let built = |agent, stored| {
        workspace.build(&Request { stored, ..request("alice", agent) }).unwrap().prompt.text()
    };
    assert!(built(None, first.clone()).contains("FIRST WORDS"));
    assert!(!built(Some("keeper"), first).contains("FIRST WORDS"));
    assert!(built(Some("keeper"), keeper.clone()).contains("KEEPERS WORDS"));
    assert!(!built(None, keeper).contains("KEEPERS WORDS"));
}

#[test]
fn unknown_agents_are_refused_only_among_several() {
    let folder = Folder::with(&[("foreword.yaml", CONFIG)]);
    let workspace = open(&folder);
    let error = workspace.build(&request("alice", Some("clrk"))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no agent `clrk` here: there are `Ada`, `clerk`, `researcher`, `keeper`"
    );
    let folder = Folder::with(&[("foreword.yaml", "agent: { name: Ada }")]);
    let alone = open(&folder);
    assert_eq!(&*alone.build(&request("alice", Some("clrk"))).unwrap().occasion.agent, "clrk");
}

#[test]
fn every_agent_is_checked() {
    let yaml = "\
agents:
  clerk: { blueprint: agent, prompt: { instruction_file: LOST.md } }
  scribe: { blueprint: template, prompt: { template_file: prompts/scribe.md } }
";
    let folder =
        Folder::with(&[("foreword.yaml", yaml), ("agents/scribe/prompts/scribe.md", "Hello [system:tme].")]);
    let now = "2026-03-14T12:00[UTC]".parse().unwrap();
    let found = check(&open(&folder), &[], &now);
    let words = format!("{found:?}");
    assert!(words.contains("LOST.md") || words.contains(".agents/prompt"), "{words}");
    assert!(words.contains("agents/scribe/prompts/scribe.md") && words.contains("tme"), "{words}");
}

#[test]
fn restricted_files_are_restricted_for_all_agents() {
    const RULES: &str = "\
agent: { name: Ada, model: offline/echo }
prompt: { files: [{ path: skills/keys/SKILL.md, trust: full }, { path: workflows/open.yaml, trust: full }] }
agents: { clerk: { prompt: { files: [] } } }
";
    let folder = Folder::with(&[
        ("foreword.yaml", RULES),
        ("skills/keys/SKILL.md", "---\nname: keys\ndescription: Where the keys are.\n---\nUnder the mat.\n"),
        ("workflows/open.yaml", "name: open\ndescription: Opens.\nsteps:\n  - prompt: Open the door.\n"),
    ]);
    let workspace = open(&folder);
    for agent in ["Ada", "clerk"] {
        let snapshot = workspace.snapshot().of_agent(Some(agent)).unwrap();
        for (trust, shown) in [(Trust::Full, 1), (Trust::Inner, 0)] {
            let view = SkillView { snapshot: &snapshot, user: Some("bob"), trust };
            assert_eq!(view.skills().len(), shown, "{agent}, {trust}");
            let workflow = &snapshot.workflows().items[0];
            assert_eq!(workflow.is_for(&snapshot, Some("bob"), trust), shown == 1, "{agent}, {trust}");
        }
    }
}
