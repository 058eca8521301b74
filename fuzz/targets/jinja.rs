//! Looks for an input that breaks a law of the Jinja dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(
    // libFuzzer's hook ends the process on any panic, also on one inside the engine that is caught and made an error
    // as it should be. Without the hook only those count that get out.
    init: drop(std::panic::take_hook()),
    |input: &[u8]| foreword_fuzz::jinja::laws_hold(input)
);
