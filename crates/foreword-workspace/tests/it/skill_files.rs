//! Skills and their front matter.

use foreword_workspace::skills::{load_skills, load_user_skills, skills_of_user};

use crate::workspace_folder::{Folder, cache};

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n")
}

#[test]
fn skills_are_listed_by_name_with_their_bodies() {
    let folder = Folder::with(&[
        ("skills/weather/SKILL.md", &skill("weather", "When somebody asks about rain.")),
        (
            "skills/cooking/SKILL.md",
            "---\nname: cooking\ndescription: >\n  When it is about\n  food.\nlicense: MIT\n---\nBoil.\n",
        ),
        ("skills/weather/notes.md", "not a skill"),
    ]);
    let loaded = load_skills(&folder.root(), &cache());
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let skills: Vec<_> =
        loaded.items.iter().map(|s| (&*s.name, &*s.description, &*s.body, &*s.path)).collect();
    assert_eq!(
        skills,
        [
            ("cooking", "When it is about food.", "Boil.\n", "skills/cooking/SKILL.md"),
            ("weather", "When somebody asks about rain.", "# weather\n", "skills/weather/SKILL.md"),
        ]
    );
}

#[test]
fn invalid_skill_is_reported_and_others_are_loaded() {
    let folder = Folder::with(&[
        ("skills/good/SKILL.md", &skill("good", "Works.")),
        ("skills/a-no-file/notes.md", ""),
        ("skills/b-no-front-matter/SKILL.md", "# Hello\n"),
        ("skills/c-unclosed/SKILL.md", "---\nname: c-unclosed\n"),
        ("skills/d-no-description/SKILL.md", "---\nname: d-no-description\n---\n"),
        ("skills/e-other-name/SKILL.md", &skill("weather", "x")),
        ("skills/F_Bad_Name/SKILL.md", &skill("F_Bad_Name", "x")),
        ("skills/g-empty/SKILL.md", &skill("g-empty", "' '")),
        ("skills/h-lines/SKILL.md", &skill("h-lines", "|\n  one\n  two")),
        ("skills/i-long/SKILL.md", &skill("i-long", &"x".repeat(1025))),
        ("skills/j-broken/SKILL.md", "---\nname: [\n---\n"),
        ("skills/k-number/SKILL.md", &skill("k-number", "[1, 2]")),
    ]);
    folder.write("skills/l-binary/SKILL.md", b"\xff");
    let loaded = load_skills(&folder.root(), &cache());
    assert_eq!(loaded.items.iter().map(|skill| &*skill.name).collect::<Vec<_>>(), ["good"]);
    let words: Vec<String> = loaded.problems.iter().map(|problem| folder.message(problem)).collect();
    assert_eq!(words.len(), 12);
    insta::assert_snapshot!(words.join("\n\n"));
}

#[test]
fn skill_name_and_description_have_maximum_lengths() {
    let longest = "a".repeat(64);
    let over = "b".repeat(65);
    let folder = Folder::with(&[
        (&format!("skills/{longest}/SKILL.md"), &skill(&longest, &"ä".repeat(1024))),
        (&format!("skills/{over}/SKILL.md"), &skill(&over, "x")),
    ]);
    let loaded = load_skills(&folder.root(), &cache());
    assert_eq!((loaded.items.len(), loaded.problems.len()), (1, 1));
}

#[test]
fn user_skills_belong_to_one_user() {
    let folder = Folder::with(&[
        ("skills/weather/SKILL.md", &skill("weather", "Everybody's.")),
        ("users/alice/skills/diary/SKILL.md", &skill("diary", "Alice's.")),
        ("users/alice/skills/weather/SKILL.md", &skill("weather", "Alice's.")),
    ]);
    let (root, cache) = (folder.root(), cache());
    let everybody = load_skills(&root, &cache).items;
    let skills_for = |user: &str| -> Vec<String> {
        let own = load_user_skills(&root, &cache, user).items;
        let all = skills_of_user(&everybody, &own);
        all.iter().map(|skill| format!("{}: {}", skill.name, skill.description)).collect()
    };
    assert_eq!(skills_for("alice"), ["diary: Alice's.", "weather: Alice's."]);
    for somebody_else in ["bob", "", ".", "..", "alice/skills/..", "../alice", "alice/."] {
        assert_eq!(skills_for(somebody_else), ["weather: Everybody's."], "{somebody_else:?}");
    }
}

#[test]
fn workspace_without_skills_has_no_problems() {
    let loaded = load_skills(&Folder::new().root(), &cache());
    assert!(loaded.items.is_empty() && loaded.problems.is_empty());
}
