#!/usr/bin/env bash
# Cargo calls this instead of rustc for our own crates when they are built for fuzzing. The flags instrument coverage and
# comparisons for libFuzzer; they are those of `cargo fuzz` without a sanitizer, which safe code does not need. Slightly
# optimised, since unoptimised code is several times slower.
exec "$@" -Copt-level=1 \
    -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares
