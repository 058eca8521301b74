//! Looks for an input that breaks a law of the bracket dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| foreword_fuzz::bracket::laws_hold(input));
