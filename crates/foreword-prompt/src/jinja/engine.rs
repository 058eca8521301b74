//! The configured engine: strict undefined values, fuel, no escaping, and only the reviewed filters, tests and
//! functions.

use std::sync::OnceLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, UndefinedBehavior};

use super::limits::Limits;
use super::{filters, functions, meter, methods, operators};

/// The maximum nesting of macros, blocks, includes and loops. A macro counts as four, an include as ten. Small enough
/// for a thread with 2 MiB of stack, even without optimization.
const RECURSION_LIMIT: usize = 240;

/// The syntax: Jinja's own, and the last line keeps its end.
pub(super) fn syntax() -> Result<SyntaxConfig, Error> {
    SyntaxConfig::builder().keep_trailing_newline(true).build()
}

/// An engine without templates. Templates with the default limits share one set of filters.
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
    // Errors then name the undefined variable; successful renderings have no extra cost.
    env.set_debug(true);
    let short = meter::paid_by_its_step(&limits);
    env.set_formatter(move |out, state, value| meter::emit(out, state, value, limits, short));
    operators::register(&mut env, limits);
    filters::register(&mut env, limits);
    functions::register(&mut env, limits);
    methods::register(&mut env, limits);
    Ok(env)
}
