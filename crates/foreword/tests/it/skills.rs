//! `foreword skills`: the skills offered to the agent, and invalid ones.

use crate::program::{Home, PEOPLE};

fn skill(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: How to do {name}.\n---\n{body}\n")
}

fn home() -> Home {
    let home = Home::with(&[("foreword.yaml", PEOPLE)]);
    home.write("skills/tea/SKILL.md", skill("tea", "Times are in `times.md`."));
    home.write("skills/tea/times.md", "Three minutes.");
    home.write("users/bob/skills/diary/SKILL.md", skill("diary", "Dear diary."));
    home
}

fn names(home: &Home, occasion: &[&str]) -> Vec<String> {
    let listed = home.json(&[&["--json", "skills"], occasion].concat());
    let skills = listed["skills"].as_array().unwrap();
    skills.iter().map(|skill| skill["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn skills_are_visible_by_user_and_trust() {
    let home = home();
    assert_eq!(names(&home, &[]), ["tea"]);
    assert_eq!(names(&home, &["--user", "bob"]), ["diary", "tea"]);
    assert_eq!(names(&home, &["--user", "bob", "--situation", "group"]), ["tea"]);
    let listed = home.succeed(&["skills", "list", "--user", "bob"]);
    assert!(
        listed.contains("diary") && listed.contains("all users") && listed.contains("How to do tea."),
        "{listed}"
    );
}

#[test]
fn skill_is_shown_as_the_agent_sees_it() {
    let home = home();
    let shown = home.succeed(&["skills", "show", "tea"]);
    let expected =
        "# tea\n\nTimes are in `times.md`.\n\nFor `read_file`, `times.md` is `skills/tea/times.md`.\n";
    assert_eq!(shown, expected);
    let group = home.succeed(&["skills", "show", "tea", "--user", "bob", "--situation", "group"]);
    assert!(group.ends_with("Not to be read in this conversation: `times.md`.\n"), "{group}");
    let refused = home.refused(1, &["skills", "show", "diary"]);
    assert!(refused.contains("unknown skill `diary` for `full`"), "{refused}");
    let near = home.refused(1, &["skills", "show", "te"]);
    assert!(near.contains("did you mean `tea`?"), "{near}");
}

#[test]
fn invalid_skill_is_counted_and_reported_by_check() {
    let home = home();
    home.write("skills/coffee/SKILL.md", skill("cofee", "Hot."));
    home.write("skills/long/SKILL.md", skill("long", "x").replace("How to do long.", &"x".repeat(1_025)));
    home.write("skills/bare/SKILL.md", "No front matter.");
    let ran = home.run(&["skills"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("3 skills can't be used: see `foreword check`"), "{}", ran.stderr);
    let check = home.run(&["check"]);
    assert_eq!(check.code, 3);
    for words in [
        "`name` is `cofee` but the folder is `coffee`",
        "--> skills/coffee/SKILL.md:2:7",
        "`description` has 1025 characters, at most 1024 are allowed",
        "a skill needs front matter",
    ] {
        assert!(check.stdout.contains(words), "{words}: {}", check.stdout);
    }
}
