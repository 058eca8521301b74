//! Properties of turns over random sequences of inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use foreword_prompt::tool::{Parameter, ParameterKind, ToolSpec};
use foreword_prompt::trust::Trust;
use foreword_prompt::untrusted::Origin;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::limits::TurnLimits;
use crate::message::{ContentBlock, Role};
use crate::model::{ErrorKind, StopReason};

/// An abstract input, made concrete by the state of the turn.
#[derive(Debug, Clone)]
enum Happens {
    Words(&'static str),
    Call {
        tool: &'static str,
        id: &'static str,
        good: bool,
    },
    Signed,
    Stop(StopReason),
    Fail(ErrorKind, Option<u16>),
    /// The running tool with this index ends.
    ToolEnds {
        which: usize,
        outside: bool,
    },
    StrayResult,
    Owner(OwnerAnswer),
    Seconds(u64),
    Compacted(bool),
    Resumed,
    Cancel,
}

fn happens() -> impl Strategy<Value = Happens> {
    let tool = prop_oneof![Just("look"), Just("shell"), Just("edit"), Just("nothing_like_it")];
    let id = prop_oneof![Just("c-1"), Just("c-2"), Just("c-3")];
    let stop = prop_oneof![Just(StopReason::EndTurn), Just(StopReason::ToolUse), Just(StopReason::MaxTokens)];
    let fail = prop_oneof![
        Just((ErrorKind::RateLimited, Some(429))),
        Just((ErrorKind::BrokenStream, None)),
        Just((ErrorKind::ContextTooLong, Some(400))),
        Just((ErrorKind::Authentication, Some(401))),
    ];
    prop_oneof![
        6 => prop_oneof![Just("Well, "), Just("yes."), Just(" "), Just("")].prop_map(Happens::Words),
        6 => (tool, id, prop::bool::weighted(0.8)).prop_map(|(tool, id, good)| Happens::Call { tool, id, good }),
        1 => Just(Happens::Signed),
        6 => stop.prop_map(Happens::Stop),
        3 => fail.prop_map(|(kind, status)| Happens::Fail(kind, status)),
        8 => (0..3_usize, any::<bool>()).prop_map(|(which, outside)| Happens::ToolEnds { which, outside }),
        1 => Just(Happens::StrayResult),
        4 => prop_oneof![Just(OwnerAnswer::Once), Just(OwnerAnswer::RestOfTurn), Just(OwnerAnswer::No)].prop_map(Happens::Owner),
        4 => (0..90_u64).prop_map(Happens::Seconds),
        2 => any::<bool>().prop_map(Happens::Compacted),
        2 => Just(Happens::Resumed),
        1 => Just(Happens::Cancel),
    ]
}

fn rules() -> impl Strategy<Value = TurnRules> {
    let attendance = prop_oneof![
        Just(TurnAttendance::Owner),
        Just(TurnAttendance::Interactive),
        Just(TurnAttendance::Unattended)
    ];
    (attendance, any::<bool>(), 1..4_u32, 1..6_u32).prop_map(|(attendance, tainted, rounds, tool_calls)| {
        let rule = |name: &str, sensitive, most_per_turn| {
            let spec = ToolSpec::new(name, "Does it.", Trust::Full).with(Parameter::required(
                "what",
                ParameterKind::String,
                "What.",
            ));
            (name.to_owned(), ToolRule { spec, side_effects: sensitive, sensitive, most_per_turn })
        };
        let mut taint = Taint::Clean;
        if tainted {
            taint.add(TaintSource::History);
        }
        let tools = [rule("look", false, None), rule("shell", true, None), rule("edit", true, Some(1))];
        let limits = TurnLimits { rounds, tool_calls, time: Duration::from_secs(600) };
        TurnRules { tools: BTreeMap::from(tools).into(), limits, attendance, taint, ..TurnRules::default() }
    })
}

/// A turn with the state of its driver.
struct Driven {
    turn: Turn,
    now: Timestamp,
    at_work: Vec<Permit>,
    asked: Option<CallId>,
    allowed: BTreeSet<CallId>,
    all_allowed: bool,
    ended: BTreeSet<CallId>,
}

impl Driven {
    fn new(rules: TurnRules) -> Self {
        let now = Timestamp::from_micros(0);
        let mut driven = Self {
            turn: Turn::new(rules, now),
            now,
            at_work: Vec::new(),
            asked: None,
            allowed: BTreeSet::new(),
            all_allowed: false,
            ended: BTreeSet::new(),
        };
        driven.step(Input::Begin);
        driven
    }

    fn input(&mut self, happens: &Happens) -> Input {
        match happens.clone() {
            Happens::Words(words) => Input::Model(ModelEvent::Text(words.to_owned())),
            Happens::Call { tool, id, good } => {
                let input = if good { json!({ "what": "it" }) } else { json!("{\"what\": \"i") };
                let id = CallId::new(id).unwrap();
                Input::Model(ModelEvent::Block(ContentBlock::ToolCall { id, name: tool.to_owned(), input }))
            }
            Happens::Signed => {
                Input::Model(ModelEvent::Block(ContentBlock::Other(json!({ "type": "thinking" }))))
            }
            Happens::Stop(reason) => Input::Model(ModelEvent::Stopped(reason)),
            Happens::Fail(kind, status) => {
                let (provider, message) = ("acme".to_owned(), "no".to_owned());
                let error =
                    ModelError { kind, provider, status, message, retry_after: None, request_id: None };
                Input::ModelFailed { error, chance: 0.5 }
            }
            Happens::ToolEnds { which, outside } => {
                let call =
                    self.at_work.get(which).map_or_else(|| CallId::new("c-9").unwrap(), |p| p.call.clone());
                let from_outside = outside.then(|| TaintSource::Outside(Origin::tool("look")));
                let content = "found".to_owned();
                Input::ToolEnded(ToolEnded { call, content, is_error: false, from_outside })
            }
            Happens::StrayResult => {
                let call = self.ended.first().cloned().unwrap_or_else(|| CallId::new("c-8").unwrap());
                let content = "again".to_owned();
                Input::ToolEnded(ToolEnded { call, content, is_error: true, from_outside: None })
            }
            Happens::Owner(answer) => {
                let call = self.asked.clone().unwrap_or_else(|| CallId::new("c-7").unwrap());
                Input::OwnerSaid { call, answer }
            }
            Happens::Seconds(seconds) => {
                self.now = self.now.plus(Duration::from_secs(seconds));
                Input::Tick
            }
            Happens::Compacted(well) => {
                Input::Compacted(if well { Ok(Usage::default()) } else { Err("no".to_owned()) })
            }
            Happens::Resumed => Input::Resumed,
            Happens::Cancel => Input::Cancel,
        }
    }

    /// Executes a step and checks it against the driver's state.
    fn step(&mut self, input: Input) -> Step {
        if let (Input::OwnerSaid { call, answer }, Some(asked)) = (&input, &self.asked)
            && call == asked
            && *answer != OwnerAnswer::No
            && matches!(self.turn.phase, Phase::Asking { .. })
        {
            self.allowed.insert(call.clone());
            self.all_allowed |= *answer == OwnerAnswer::RestOfTurn;
        }
        if let Input::ToolEnded(ended) = &input {
            self.at_work.retain(|permit| permit.call != ended.call);
            self.ended.insert(ended.call.clone());
        }
        let clean_before = !self.turn.taint.is_tainted();
        let step = self.turn.step(self.now, input);
        match &step {
            Step::RunTools(permits) => {
                for permit in permits {
                    self.must_be_allowed(permit, clean_before);
                }
                self.at_work.clone_from(permits);
            }
            Step::AskOwner(question) => self.asked = Some(question.call.clone()),
            _ => {}
        }
        step
    }

    fn must_be_allowed(&self, permit: &Permit, clean: bool) {
        let rule = self.turn.rules.tools.get(permit.tool()).expect("only tools there are");
        assert_eq!(permit.arguments().get("what"), Some(&json!("it")), "only arguments that fit");
        assert!(!self.ended.contains(permit.call()), "no call is run twice");
        if rule.sensitive {
            let asked = self.all_allowed || self.allowed.contains(permit.call());
            // A call that was permitted while the turn was clean stays permitted.
            let before = self.at_work.iter().any(|earlier| earlier.call == permit.call);
            assert!(clean || asked || before, "a tainted turn runs nothing sensitive unasked");
        }
    }
}

/// Whether a provider accepts the messages and the conversation can continue.
fn must_be_usable(said: &[TurnMessage]) {
    for (index, one) in said.iter().enumerate() {
        assert!(!one.content.is_empty());
        let calls: Vec<&CallId> = one.content.iter().filter_map(call_of).collect();
        let results: Vec<&CallId> =
            said.get(index + 1).into_iter().flat_map(|next| &next.content).filter_map(result_of).collect();
        if one.role == Role::Assistant && !calls.is_empty() {
            assert_eq!(calls, results, "each call has its result right behind it");
        } else {
            assert!(results.is_empty(), "no result without a call");
        }
        for block in &one.content {
            assert!(!matches!(block, ContentBlock::Text { text } if text.trim().is_empty()));
        }
    }
    let calls: Vec<&CallId> = said.iter().flat_map(|said| &said.content).filter_map(call_of).collect();
    assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), calls.len(), "an id is one call");
}

fn call_of(block: &ContentBlock) -> Option<&CallId> {
    match block {
        ContentBlock::ToolCall { id, .. } => Some(id),
        _ => None,
    }
}

fn result_of(block: &ContentBlock) -> Option<&CallId> {
    match block {
        ContentBlock::ToolResult { call, .. } => Some(call),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn tools_need_a_permit_and_run_at_most_once(rules in rules(), all in prop::collection::vec(happens(), 0..60)) {
        let mut driven = Driven::new(rules);
        for happens in &all {
            let input = driven.input(happens);
            driven.step(input);
        }
    }

    #[test]
    fn turn_survives_storing_between_any_two_steps(
        rules in rules(), all in prop::collection::vec(happens(), 0..60)
    ) {
        let mut driven = Driven::new(rules);
        let mut elsewhere = driven.turn.clone();
        for happens in &all {
            let input = driven.input(happens);
            let stored = serde_json::to_string(&elsewhere).unwrap();
            elsewhere = serde_json::from_str(&stored).unwrap();
            let step = driven.step(input.clone());
            prop_assert_eq!(elsewhere.step(driven.now, input), step);
            prop_assert_eq!(&elsewhere, &driven.turn);
        }
    }

    #[test]
    fn resumed_turn_requests_exactly_the_unfinished_tools(
        rules in rules(), all in prop::collection::vec(happens(), 0..60)
    ) {
        let mut driven = Driven::new(rules);
        for happens in &all {
            let input = driven.input(happens);
            driven.step(input);
            let mut resumed = driven.turn.clone();
            if let Step::RunTools(permits) = resumed.step(driven.now, Input::Resumed) {
                prop_assert_eq!(&permits, &driven.at_work);
                prop_assert_eq!(&resumed, &driven.turn);
            }
        }
    }

    #[test]
    fn cancel_at_any_point_leaves_a_valid_conversation(
        rules in rules(), all in prop::collection::vec(happens(), 0..60)
    ) {
        let mut driven = Driven::new(rules);
        for happens in &all {
            let mut cancelled = driven.turn.clone();
            let step = cancelled.step(driven.now, Input::Cancel);
            prop_assert!(matches!(step, Step::Done(_)), "{step:?}");
            must_be_usable(cancelled.messages());
            let input = driven.input(happens);
            if let Step::Done(_) = driven.step(input) {
                must_be_usable(driven.turn.messages());
            }
        }
    }

    #[test]
    fn shown_text_is_never_retracted(rules in rules(), all in prop::collection::vec(happens(), 0..60)) {
        let mut driven = Driven::new(rules);
        for happens in &all {
            let before = driven.turn.said.clone();
            let shown = driven.turn.collected.clone();
            let input = driven.input(happens);
            let resumed = matches!(input, Input::Resumed);
            driven.step(input);
            prop_assert!(driven.turn.said.starts_with(&before));
            // Shown text is still there, unless the process that showed it is gone.
            if shown.has_text() && !resumed {
                let kept = format!("{}{:?}", driven.turn.answer(), driven.turn.collected);
                let words = shown.clone().into_text();
                for block in words {
                    let ContentBlock::Text { text } = block else { continue };
                    prop_assert!(kept.contains(text.trim_end()), "{text:?} in {kept}");
                }
            }
        }
    }
}
