//! Fuzzes the Jinja dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(
    // libFuzzer's hook aborts on any panic, even one in the engine that is caught and converted to an error. Without
    // the hook only uncaught panics count.
    init: drop(std::panic::take_hook()),
    |input: &[u8]| foreword_fuzz::jinja::check_properties(input)
);
