//! Assembles system prompts from layers. Pure: values in, values out. There is no file, clock, environment, network or
//! thread in here, and the same inputs always give the same bytes.
//!
//! A [`Blueprint`](blueprint::Blueprint) is an ordered list of layers. A [`Plan`](plan::Plan) decides, by trust alone,
//! which of them this person may see. The caller gathers the text of those and of no others.
//! [`assemble`](assemble::assemble) makes a [`Prompt`](prompt::Prompt) of it: a frozen text that can be reused to the
//! byte, and a turn context that is only ever appended. A [`Report`](report::Report) says what went in and what did
//! not.
//!
//! Whoever has a folder of Markdown files wants the crate `foreword-workspace`, which does the gathering.
//!
//! # A first prompt
//! ```
//! use std::sync::Arc;
//!
//! use foreword_prompt::assemble::{FrozenMaterial, Materials, Provenance, Settings, TurnMaterial, assemble};
//! use foreword_prompt::blueprint::Blueprint;
//! use foreword_prompt::budget::Budget;
//! use foreword_prompt::content::Content;
//! use foreword_prompt::layer::Source;
//! use foreword_prompt::plan::{Plan, PlanFor};
//! use foreword_prompt::prompt::TurnPlacement;
//! use foreword_prompt::report::{Report, View};
//! use foreword_prompt::tokens::Counter;
//! use foreword_prompt::trust::{Trust, TrustDecision};
//! use foreword_prompt::turn_text::TurnText;
//!
//! // The layers, in the form people write them.
//! let spec = serde_saphyr::from_str("
//! layers:
//!   - { id: rules, authority: policy, stability: static, trust: public, source: { text: Be kind. } }
//!   - { id: secret, stability: agent, source: { text: The key is under the mat. } }
//!   - { id: clock, stability: turn, trust: public, source: { dynamic: runtime } }
//! ")?;
//! let blueprint = Blueprint::from_spec("porter", &spec).map_err(|problems| problems[0].to_string())?;
//!
//! // Alice is trusted in full, but she speaks in a group. `secret` names no trust, so it needs `full`.
//! let trust = TrustDecision::new(Trust::Full, Trust::Familiar);
//! let plan = Plan::new(&blueprint, PlanFor { trust, files: &[], fills: &[], window: None });
//!
//! // Gather the text of what the plan lets in.
//! let from = |kind| Provenance { kind, origin: None, read_path: None, description: "".into() };
//! let mut materials = Materials::default();
//! for layer in plan.layers.iter().map(Arc::clone) {
//!     match &layer.source {
//!         Source::Text(text) => {
//!             let content = Content::of_block(text);
//!             materials.frozen.push(FrozenMaterial { layer, content, from: from("text") });
//!         }
//!         _ => {
//!             let content = TurnText::new("It is nine o'clock.").into();
//!             materials.turn.push(TurnMaterial { layer, content, from: from("dynamic") });
//!         }
//!     }
//! }
//!
//! let prompt = assemble(&plan, materials, Settings {
//!     blueprint: "porter",
//!     budget: Budget { tokens: 1_000, window: None, history: 0 },
//!     counter: Counter::Estimate.get(),
//!     placement: TurnPlacement::Message,
//! })?;
//! assert_eq!(&*prompt.frozen.text, "Be kind.");
//! assert_eq!(prompt.text(), "Be kind.\n\n<turn-context>\nIt is nine o'clock.\n</turn-context>");
//!
//! // Whoever the prompt is for learns nothing of what was withheld; the owner learns why.
//! let ids = |view| Report::of(&prompt, view).layers.into_iter().map(|layer| layer.id).collect::<Vec<_>>();
//! assert_eq!(ids(View::Principal), ["rules", "clock"]);
//! assert_eq!(ids(View::Owner), ["rules", "clock", "secret"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Trust
//! [`Trust`](trust::Trust) has no `<`, so that nobody can compare the wrong way round: there are
//! [`meet`](trust::Trust::meet) and [`permits`](trust::Trust::permits). A [`TrustDecision`](trust::TrustDecision) is
//! the lower of a person's trust and the ceiling of the place. [`Plan::new`](plan::Plan::new) asks it before anything
//! is read: what it withholds is never gathered, so it can't be in the prompt, in a menu or in a report for the
//! principal.
//!
//! Text that others wrote is [`Untrusted`](untrusted::Untrusted), which can't be formatted, borrowed or serialised as
//! text. [`frame`](untrusted::frame()) turns it into a [`Framed`](untrusted::Framed) block that only a
//! [`TurnText`](turn_text::TurnText) takes. Frozen layers have no place for it.
//!
//! # Frozen and fresh
//! Layers are ordered by [`Stability`](layer::Stability): what changes least comes first, because providers cache a
//! prefix. The [`Frozen`](prompt::Frozen) part has a block for each stability, and
//! [`breakpoints`](cache_plan::breakpoints) says behind which of them to ask for caching. [`epoch::decide`] says
//! whether a frozen prompt may be used for the next turn, and if not, why; [`Told::delta`](turn_delta::Told::delta)
//! gives only what is new since the last one.
//!
//! # Budget
//! A [`Budget`](budget::Budget) counts headings, separators and markers too. Each layer's own limits come first, then
//! the whole, the lowest priority first. A layer that does not fit is refused, cut in the middle with a marker, or
//! moved to the memory menu, as its [`Overflow`](layer::Overflow) says. Policy is never cut. Every cut is a
//! [`Warning`](prompt::Warning). Tokens are counted by a named [`Counter`](tokens::Counter): exact for OpenAI's
//! encodings, an estimate that errs on the safe side for others.
//!
//! ```
//! use foreword_prompt::tokens::Counter;
//! assert_eq!(Counter::Estimate.get().name(), "estimate-v1");
//! assert_eq!(Counter::Estimate.get().count(""), 0);
//! ```
//!
//! # Templates
//! Two dialects, both without any access to the world:
//!
//! ```
//! use foreword_prompt::bracket::{Mode, Template, Values};
//! use foreword_prompt::jinja::{Limits, RenderContext, Value, compile};
//!
//! // Bracket: anything that is no tag is text. It says what it refers to; the caller finds the values.
//! let template = Template::parse("You are in [prompt:cwd].[if git:branch] On [git:branch].[endif]", Mode::Bracket);
//! assert_eq!(template.references()[1].to_string(), "git:branch");
//! assert_eq!(template.render(&Values::new().with("prompt", "cwd", "/srv")), "You are in /srv.");
//!
//! // Jinja: strict, and bounded in steps and bytes.
//! let template = compile("CHAT.md", "You are {{ agent_name }}.".into(), &|_| Ok(None), &Limits::default())?;
//! let context = RenderContext::new(Value::from_pairs([("locale", "pt-PT")]), "ChatAgent", "Agent");
//! assert_eq!(template.render(&context)?, "You are ChatAgent.");
//! # Ok::<(), foreword_prompt::diagnostic::TemplateError>(())
//! ```
//!
//! # Errors
//! Parsing gives everything that is wrong at once, each with its place:
//! [`BlueprintProblem`](blueprint::BlueprintProblem) for a blueprint, [`Diagnostic`](diagnostic::Diagnostic) for a
//! bracket template, which never fails, [`TemplateError`](diagnostic::TemplateError) for a Jinja template.
//! [`assemble`](assemble::assemble) fails for one reason only, that the prompt can't be made to fit, and
//! [`PromptError`](error::PromptError) names the layers and says [what to do](error::PromptError::help).
//!
//! ```
//! use foreword_prompt::blueprint::Blueprint;
//! let spec = serde_saphyr::from_str("
//! layers:
//!   - { id: clock, stability: turn, source: { dynamic: runtime } }
//!   - { id: rules, stability: static, source: { text: Be kind. } }
//! ")?;
//! let problems = Blueprint::from_spec("porter", &spec).unwrap_err();
//! assert!(problems[0].message.starts_with("layer `rules` (static) stands behind `clock` (turn)"));
//! assert_eq!(problems[0].location.line(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod assemble;
pub mod blueprint;
pub mod bracket;
pub mod budget;
pub mod cache_plan;
pub mod content;
pub mod cut;
pub mod diagnostic;
pub mod dynamic;
pub mod epoch;
pub mod error;
pub mod file_rules;
pub mod generated;
pub mod jinja;
pub mod last_good;
pub mod layer;
pub mod layer_defaults;
pub mod layer_update;
pub mod menu;
pub mod occasion;
pub mod plan;
pub mod prompt;
pub mod report;
pub mod stored;
pub mod text;
pub mod tokens;
pub mod tool;
pub mod trust;
pub mod turn_delta;
pub mod turn_text;
pub mod untrusted;
