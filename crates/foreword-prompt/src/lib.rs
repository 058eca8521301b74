//! Assembles system prompts from layers. Pure: values in, values out. There is no file, clock, environment, network or
//! thread in here, and the same inputs always give the same bytes.
//!
//! A [`Blueprint`](blueprint::Blueprint) is an ordered list of layers. A [`Plan`](plan::Plan) decides, by trust alone,
//! which of them this reader may see. The caller gathers only the texts of those. [`assemble`](assemble::assemble)
//! builds a [`Prompt`](prompt::Prompt): a frozen text that can be reused byte for byte, and a turn context that is only
//! appended. A [`Report`](report::Report) lists what was included and what was not.
//!
//! For a folder of Markdown files, use the crate `foreword-workspace`, which gathers the texts.
//!
//! # A first prompt
//! ```
//! use std::sync::Arc;
//!
//! use foreword_prompt::assemble::{FrozenMaterial, Materials, Provenance, Settings, TurnMaterial, assemble};
//! use foreword_prompt::blueprint::Blueprint;
//! use foreword_prompt::budget::TokenBudget;
//! use foreword_prompt::content::Content;
//! use foreword_prompt::layer::Source;
//! use foreword_prompt::plan::{Plan, PlanFor};
//! use foreword_prompt::prompt::TurnPlacement;
//! use foreword_prompt::report::{Report, View};
//! use foreword_prompt::tokens::Tokenizer;
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
//!     budget: TokenBudget { tokens: 1_000, window: None, history: 0 },
//!     counter: Tokenizer::Estimate.get(),
//!     placement: TurnPlacement::Message,
//! })?;
//! assert_eq!(&*prompt.frozen.text, "Be kind.");
//! assert_eq!(prompt.text(), "Be kind.\n\n<turn-context>\nIt is nine o'clock.\n</turn-context>");
//!
//! // The principal's report does not mention withheld layers; the owner's gives the reasons.
//! let ids = |view| Report::of(&prompt, view).layers.into_iter().map(|layer| layer.id).collect::<Vec<_>>();
//! assert_eq!(ids(View::Principal), ["rules", "clock"]);
//! assert_eq!(ids(View::Owner), ["rules", "clock", "secret"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Trust
//! [`Trust`](trust::Trust) has no `<`, to prevent comparisons in the wrong direction: there are
//! [`meet`](trust::Trust::meet) and [`permits`](trust::Trust::permits). A [`TrustDecision`](trust::TrustDecision) is
//! the lower of a user's trust and the ceiling of the situation. [`Plan::new`](plan::Plan::new) applies it before
//! anything is read: withheld layers are never gathered, so they cannot appear in the prompt, in a menu or in a report
//! for the principal.
//!
//! Text written by others is [`Untrusted`](untrusted::Untrusted), which cannot be formatted, borrowed or serialised as
//! text. [`frame`](untrusted::frame()) turns it into a [`Framed`](untrusted::Framed) block that only a
//! [`TurnText`](turn_text::TurnText) accepts. Frozen layers cannot contain it.
//!
//! # Frozen and fresh
//! Layers are ordered by [`Stability`](layer::Stability): what changes least comes first, because providers cache a
//! prefix. The [`Frozen`](prompt::Frozen) part has a block for each stability, and
//! [`breakpoints`](cache_plan::breakpoints) says behind which of them to ask for caching. [`epoch::decide`] says
//! whether a frozen prompt may be used for the next turn, and if not, why; [`Announced::delta`](turn_delta::Announced::delta)
//! gives only what is new since the last one.
//!
//! # Token budget
//! A [`TokenBudget`](budget::TokenBudget) includes headings, separators and markers. Each layer's own limits apply
//! first, then the total limit, lowest priority first. A layer that does not fit is rejected, cut in the middle with a
//! marker, or moved to the memory menu, depending on its [`Overflow`](layer::Overflow). Policy layers are never cut.
//! Every cut is a [`Warning`](prompt::Warning). A named [`Tokenizer`](tokens::Tokenizer) counts the tokens: exact for
//! OpenAI's encodings, a conservative estimate for others.
//!
//! ```
//! use foreword_prompt::tokens::Tokenizer;
//! assert_eq!(Tokenizer::Estimate.get().name(), "estimate-v1");
//! assert_eq!(Tokenizer::Estimate.get().count(""), 0);
//! ```
//!
//! # Templates
//! Two dialects, both without access to the environment:
//!
//! ```
//! use foreword_prompt::bracket::{Mode, Template, Values};
//! use foreword_prompt::jinja::{Limits, RenderContext, Value, compile};
//!
//! // Bracket: anything but a tag is text. It lists its references; the caller provides the values.
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
//! Parsing reports all problems at once, each with its position: [`BlueprintProblem`](blueprint::BlueprintProblem) for
//! a blueprint, [`Diagnostic`](diagnostic::Diagnostic) for a bracket template, which never fails,
//! [`TemplateError`](diagnostic::TemplateError) for a Jinja template. [`assemble`](assemble::assemble) fails only if
//! the prompt does not fit, and [`PromptError`](error::PromptError) names the layers and [what to
//! do](error::PromptError::help).
//!
//! ```
//! use foreword_prompt::blueprint::Blueprint;
//! let spec = serde_saphyr::from_str("
//! layers:
//!   - { id: clock, stability: turn, source: { dynamic: runtime } }
//!   - { id: rules, stability: static, source: { text: Be kind. } }
//! ")?;
//! let problems = Blueprint::from_spec("porter", &spec).unwrap_err();
//! assert!(problems[0].message.starts_with("layer `rules` (static) follows `clock` (turn)"));
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
mod menu_fit;
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
