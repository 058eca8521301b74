//! Looks for an input that breaks a law of configuration, workflows and front matter.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| foreword_fuzz::yaml::laws_hold(input));
