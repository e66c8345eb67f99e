#!/bin/sh
# Stands before rustc (RUSTC_WRAPPER) and gives the engine alone what libFuzzer is guided by. Counters in the reference
# would guide it through the reference, and cost most of the speed.
rustc=$1
shift
case " $* " in
*" --crate-name tito_audit "*)
    exec "$rustc" "$@" -Ccodegen-units=1 -Cpasses=sancov-module \
        -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
        -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
    ;;
*) exec "$rustc" "$@" ;;
esac
