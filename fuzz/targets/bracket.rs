//! Fuzzes the bracket dialect.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| foreword_fuzz::bracket::check_properties(input));
