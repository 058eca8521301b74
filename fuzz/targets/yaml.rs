//! Fuzzes configuration, workflows and front matter.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| foreword_fuzz::yaml::check_properties(input));
