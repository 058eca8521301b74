//! The files that `foreword init` and `foreword serve --demo` write, compiled into the program: a small workspace for
//! each blueprint and a larger one with sample data for the demo.

/// Path below the workspace, and content.
type File = (&'static str, &'static str);

pub(crate) fn files_of(blueprint: &str) -> Option<&'static [File]> {
    Some(match blueprint {
        "gateway" => GATEWAY,
        "vm" => VM,
        "sovereign" => SOVEREIGN,
        "template" => TEMPLATE,
        "agent" => AGENT,
        _ => return None,
    })
}

const GITIGNORE: &str = "# The database and the logs.\n.foreword/\n";

const GATEWAY: &[File] = &[
    (".gitignore", GITIGNORE),
    ("foreword.yaml", include_str!("../templates/gateway/foreword.yaml")),
    ("AGENTS.md", include_str!("../templates/gateway/AGENTS.md")),
    ("HEARTBEAT.md", include_str!("../templates/gateway/HEARTBEAT.md")),
    ("IDENTITY.md", include_str!("../templates/gateway/IDENTITY.md")),
    ("MEMORY.md", include_str!("../templates/gateway/MEMORY.md")),
    ("SOUL.md", include_str!("../templates/gateway/SOUL.md")),
    ("TOOLS.md", include_str!("../templates/gateway/TOOLS.md")),
    ("channels/discord.md", include_str!("../templates/gateway/channels/discord.md")),
    ("prompts/group-rules.md", include_str!("../templates/gateway/prompts/group-rules.md")),
    ("prompts/heartbeat-rules.md", include_str!("../templates/gateway/prompts/heartbeat-rules.md")),
    ("workflows/weekly-review.yaml", include_str!("../templates/gateway/workflows/weekly-review.yaml")),
    ("memory/private/finance.md", include_str!("../templates/gateway/memory/private/finance.md")),
    ("memory/private/people.md", include_str!("../templates/gateway/memory/private/people.md")),
    ("memory/shared/recent.md", include_str!("../templates/gateway/memory/shared/recent.md")),
    ("memory/social/people.md", include_str!("../templates/gateway/memory/social/people.md")),
    ("skills/meal-plan/SKILL.md", include_str!("../templates/gateway/skills/meal-plan/SKILL.md")),
    ("users/alice/USER.md", include_str!("../templates/gateway/users/alice/USER.md")),
    ("users/bob/USER.md", include_str!("../templates/gateway/users/bob/USER.md")),
];

/// The workspace of `foreword serve --demo`: the files of `gateway`, plus notes of more users, two more agents, another
/// situation, and schedules.
pub(crate) const DEMO_FILES: &[File] = &[
    (".gitignore", GITIGNORE),
    ("foreword.yaml", include_str!("../templates/demo/foreword.yaml")),
    ("AGENTS.md", include_str!("../templates/gateway/AGENTS.md")),
    ("HEARTBEAT.md", include_str!("../templates/gateway/HEARTBEAT.md")),
    ("IDENTITY.md", include_str!("../templates/gateway/IDENTITY.md")),
    ("MEMORY.md", include_str!("../templates/gateway/MEMORY.md")),
    ("SOUL.md", include_str!("../templates/gateway/SOUL.md")),
    ("TOOLS.md", include_str!("../templates/gateway/TOOLS.md")),
    ("channels/discord.md", include_str!("../templates/gateway/channels/discord.md")),
    ("prompts/group-rules.md", include_str!("../templates/gateway/prompts/group-rules.md")),
    ("prompts/heartbeat-rules.md", include_str!("../templates/gateway/prompts/heartbeat-rules.md")),
    ("prompts/house-style.md", include_str!("../templates/demo/prompts/house-style.md")),
    ("prompts/letters.md", include_str!("../templates/demo/prompts/letters.md")),
    ("prompts/workshop-rules.md", include_str!("../templates/demo/prompts/workshop-rules.md")),
    ("workflows/read-out.yaml", include_str!("../templates/demo/workflows/read-out.yaml")),
    ("workflows/weekly-review.yaml", include_str!("../templates/gateway/workflows/weekly-review.yaml")),
    ("memory/private/finance.md", include_str!("../templates/gateway/memory/private/finance.md")),
    ("memory/private/health.md", include_str!("../templates/demo/memory/private/health.md")),
    ("memory/private/people.md", include_str!("../templates/gateway/memory/private/people.md")),
    ("memory/private/surprise.md", include_str!("../templates/demo/memory/private/surprise.md")),
    ("memory/shared/bookshelf.md", include_str!("../templates/demo/memory/shared/bookshelf.md")),
    ("memory/shared/house.md", include_str!("../templates/demo/memory/shared/house.md")),
    ("memory/shared/recent.md", include_str!("../templates/gateway/memory/shared/recent.md")),
    ("memory/social/garden.md", include_str!("../templates/demo/memory/social/garden.md")),
    ("memory/social/market.md", include_str!("../templates/demo/memory/social/market.md")),
    ("memory/social/people.md", include_str!("../templates/gateway/memory/social/people.md")),
    ("skills/garden-rota/SKILL.md", include_str!("../templates/demo/skills/garden-rota/SKILL.md")),
    ("skills/meal-plan/SKILL.md", include_str!("../templates/gateway/skills/meal-plan/SKILL.md")),
    ("skills/stall-book/SKILL.md", include_str!("../templates/demo/skills/stall-book/SKILL.md")),
    ("users/alice/USER.md", include_str!("../templates/gateway/users/alice/USER.md")),
    ("users/bob/USER.md", include_str!("../templates/gateway/users/bob/USER.md")),
    (
        "users/bob/skills/cut-list/SKILL.md",
        include_str!("../templates/demo/users/bob/skills/cut-list/SKILL.md"),
    ),
    ("users/carol/USER.md", include_str!("../templates/demo/users/carol/USER.md")),
];

const VM: &[File] = &[
    (".gitignore", GITIGNORE),
    ("foreword.yaml", include_str!("../templates/vm/foreword.yaml")),
    ("IDENTITY.md", include_str!("../templates/vm/IDENTITY.md")),
    ("instructions.md", include_str!("../templates/vm/instructions.md")),
    ("workflows/disk-report.yaml", include_str!("../templates/vm/workflows/disk-report.yaml")),
];

const SOVEREIGN: &[File] = &[
    (".gitignore", GITIGNORE),
    ("foreword.yaml", include_str!("../templates/sovereign/foreword.yaml")),
    ("skills/bookkeeping/SKILL.md", include_str!("../templates/sovereign/skills/bookkeeping/SKILL.md")),
];

const TEMPLATE: &[File] = &[
    (".gitignore", GITIGNORE),
    ("foreword.yaml", include_str!("../templates/template/foreword.yaml")),
    ("AGENTS.md", include_str!("../templates/template/AGENTS.md")),
    ("prompts/system.md", include_str!("../templates/template/prompts/system.md")),
];

const AGENT: &[File] = &[
    (".gitignore", GITIGNORE),
    ("foreword.yaml", include_str!("../templates/agent/foreword.yaml")),
    (".agents/prompt/ASSISTANT.md", include_str!("../templates/agent/.agents/prompt/ASSISTANT.md")),
    (".agents/prompt/house-style.md", include_str!("../templates/agent/.agents/prompt/house-style.md")),
];
