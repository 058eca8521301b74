//! The engine a template is compiled for: strict, with fuel, without escaping, and with nothing in it but the
//! filters, tests and functions reviewed here.

use std::sync::OnceLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, UndefinedBehavior};

use super::limits::Limits;
use super::{filters, functions, meter, methods, operators};

/// How deep macros, blocks, includes and loops may be inside each other. A macro counts as four, an include as ten.
/// Small enough for a thread with 2 MiB of stack, even without optimization.
const RECURSION_LIMIT: usize = 240;

/// The syntax: Jinja's own, and the last line keeps its end.
pub(super) fn syntax() -> Result<SyntaxConfig, Error> {
    SyntaxConfig::builder().keep_trailing_newline(true).build()
}

/// An engine without templates. Most templates share the default limits and hence one set of filters.
pub(super) fn new(limits: &Limits) -> Result<Environment<'static>, Error> {
    static DEFAULT: OnceLock<Environment<'static>> = OnceLock::new();
    if *limits != Limits::default() {
        return build(*limits);
    }
    if let Some(engine) = DEFAULT.get() {
        return Ok(engine.clone());
    }
    let engine = build(*limits)?;
    Ok(DEFAULT.get_or_init(|| engine).clone())
}

fn build(limits: Limits) -> Result<Environment<'static>, Error> {
    let mut env = Environment::empty();
    env.set_syntax(syntax()?);
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_recursion_limit(RECURSION_LIMIT);
    env.set_fuel(Some(limits.fuel));
    // Errors then name the variable that was undefined; a rendering that works pays nothing for it.
    env.set_debug(true);
    let short = meter::paid_by_its_step(&limits);
    env.set_formatter(move |out, state, value| meter::emit(out, state, value, (limits, short)));
    operators::register(&mut env, limits);
    filters::register(&mut env, limits);
    functions::register(&mut env, limits);
    methods::register(&mut env, limits);
    Ok(env)
}
