#!/usr/bin/env bash
# Cargo calls this instead of rustc for our own crates when they are built for fuzzing. The flags tell libFuzzer which
# code an input reaches and what it is compared with; they are those of `cargo fuzz` without a sanitizer, which safe
# code can do without. Slightly optimised: unoptimised code is several times slower, which means fewer inputs.
exec "$@" -Copt-level=1 \
    -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares
