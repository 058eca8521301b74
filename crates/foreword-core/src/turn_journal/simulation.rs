//! Simulates turns with crashes between any two actions of a node, and checks the resulting state.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::id::MessageId;
use crate::message::Usage;
use foreword_prompt::text::ContentHash;

/// The tools called in each round, and whether each has side effects.
type Rounds = Vec<Vec<bool>>;

/// The state that survives a crash: the journal and the effects of tools.
#[derive(Debug, Default)]
struct World {
    journal: Vec<JournalStep>,
    runs: BTreeMap<String, u32>,
    ended: Option<End>,
    /// How many more actions the node executes before it dies.
    life: usize,
}

#[derive(Debug, PartialEq)]
enum End {
    Answered,
    Reported(ReportReason),
}

/// The node has died.
struct Crash;

impl World {
    /// Executes one action; the node may die before or after it.
    fn act(&mut self, what: impl FnOnce(&mut Self)) -> Result<(), Crash> {
        self.life = self.life.checked_sub(1).ok_or(Crash)?;
        what(self);
        Ok(())
    }

    fn record(&mut self, step: JournalStep) -> Result<(), Crash> {
        self.act(|world| world.journal.push(step))
    }

    fn run_tool(&mut self, id: &CallId) -> Result<(), Crash> {
        self.act(|world| *world.runs.entry(id.to_string()).or_default() += 1)
    }

    /// Runs a turn from the state of its journal.
    fn drive(&mut self, rounds: &Rounds, at_once: bool) -> Result<(), Crash> {
        let has = |world: &Self, kind| world.journal.iter().filter(|step| step.kind() == kind).count();
        if has(self, "prompt_built") == 0 {
            let (fingerprint, layer_versions) = (ContentHash::of("x"), BTreeMap::new());
            self.record(JournalStep::PromptBuilt(PromptBuilt { fingerprint, epoch: 1, layer_versions }))?;
        }
        for (number, round) in rounds.iter().enumerate() {
            if has(self, "call") == number {
                self.call()?;
            }
            self.tools(number, round, at_once)?;
        }
        if has(self, "call") == rounds.len() {
            self.call()?;
        }
        self.act(|world| {
            world.journal.push(JournalStep::Replied { messages: Vec::new() });
            world.ended = Some(End::Answered);
        })
    }

    fn call(&mut self) -> Result<(), Crash> {
        let (model, content) = ("offline/echo".to_owned(), Vec::new());
        self.record(JournalStep::Call { model, content, usage: Usage::default() })
    }

    fn tools(&mut self, round: usize, tools: &[bool], at_once: bool) -> Result<(), Crash> {
        let known = Journal::new(self.journal.clone());
        let open: Vec<(CallId, bool)> = (0..)
            .zip(tools)
            .map(|(number, effects): (usize, &bool)| (id(round, number), *effects))
            .filter(|(id, _)| known.result_of(id).is_none())
            .collect();
        for together in open.chunks(if at_once { tools.len().max(1) } else { 1 }) {
            for (call, side_effects) in together.iter().cloned() {
                self.record(JournalStep::ToolStarted { call, tool: "tool".to_owned(), side_effects })?;
            }
            for (call, _) in together {
                self.run_tool(call)?;
            }
            for (call, _) in together.iter().cloned() {
                let result = ToolResult { call, content: String::new(), is_error: false };
                self.record(JournalStep::ToolFinished(result))?;
            }
        }
        Ok(())
    }
}

fn id(round: usize, number: usize) -> CallId {
    CallId::new(format!("c-{round}-{number}")).unwrap()
}

/// Runs a turn on a sequence of nodes with these lifetimes; the last node never dies.
fn run(rounds: &Rounds, at_once: bool, lives: &[usize], limit: u32) -> World {
    let accepted = JournalStep::Accepted { messages: vec![MessageId::new("m-1").unwrap()] };
    let mut world = World { journal: vec![accepted], ..World::default() };
    for (attempts, life) in (1..).zip(lives.iter().copied().chain([usize::MAX])) {
        world.life = life;
        if attempts > 1
            && let AfterCrash::Report(why) = Journal::new(world.journal.clone()).after_crash(attempts, limit)
        {
            // The reporting node can die too.
            if world.act(|world| world.ended = Some(End::Reported(why))).is_ok() {
                return world;
            }
        } else if world.drive(rounds, at_once).is_ok() {
            return world;
        }
    }
    world
}

fn rounds() -> impl Strategy<Value = Rounds> {
    prop::collection::vec(prop::collection::vec(any::<bool>(), 0..4), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn crash_repeats_no_effect_and_leaves_no_message_unreported(
        rounds in rounds(),
        at_once in any::<bool>(),
        lives in prop::collection::vec(0..30_usize, 0..6),
        limit in 1..8_u32,
    ) {
        let world = run(&rounds, at_once, &lives, limit);
        for (round, tools) in rounds.iter().enumerate() {
            for (number, side_effects) in tools.iter().enumerate() {
                let runs = world.runs.get(id(round, number).as_str()).copied().unwrap_or(0);
                prop_assert!(!side_effects || runs <= 1, "ran {} times: {:?}", runs, world);
                prop_assert!(world.ended != Some(End::Answered) || runs >= 1, "never ran: {:?}", world);
            }
        }
        prop_assert!(world.ended.is_some(), "neither answered nor reported: {:?}", world);
    }

    #[test]
    fn read_only_turns_are_always_answered(
        rounds in rounds(),
        lives in prop::collection::vec(0..30_usize, 0..6),
    ) {
        let harmless: Rounds = rounds.iter().map(|round| vec![false; round.len()]).collect();
        prop_assert_eq!(run(&harmless, false, &lives, 99).ended, Some(End::Answered));
    }
}

#[test]
fn crash_after_each_step_is_handled() {
    let rounds = vec![vec![false, true], vec![true]];
    let (mut answered, mut reported) = (0, 0);
    for life in 0..14 {
        match run(&rounds, false, &[life], 3).ended {
            Some(End::Answered) => answered += 1,
            Some(End::Reported(ReportReason::Tool { .. })) => reported += 1,
            other => panic!("after {life} steps: {other:?}"),
        }
    }
    // Each of the two effects can be interrupted before it happens, and before it is recorded.
    assert_eq!((answered, reported), (10, 4));
}
