#!/usr/bin/env bash
# The audit as a user runs it, on rollouts that hold every kind of finding. Some of them are over the bar on purpose:
# every command is followed by its exit code, and the demo fails where that is not the one it should be.
set -euo pipefail
cd "$(dirname "$0")/.."

run() {
    local expected=$1 why=$2 status=0
    shift 2
    printf '\n$ %s\n' "$*"
    "$@" || status=$?
    if [ "$status" -ne "$expected" ]; then
        echo "demo: exit $status where $expected was expected ($why)" >&2
        exit 1
    fi
    printf '[exit %s: %s]\n' "$status" "$why"
}

chat=(-t examples/out/chat/tokenizer.json)
base=(-t examples/out/base/tokenizer.json)

run 0 "drift is an exposure, not a bug, while the sampled ids are kept" \
    tito-audit check examples/out/chat.jsonl "${chat[@]}"
run 1 "asked to fail on drift, since this pipeline decodes and encodes again" \
    tito-audit check examples/out/chat.jsonl "${chat[@]}" --skip-special-tokens --fail-on drift -q
run 0 "spaces beside control tokens are an artefact of the decoder, counted apart" \
    tito-audit check examples/out/base.jsonl "${base[@]}" --clean-up-tokenization-spaces
run 1 "records that are wrong in themselves are over the default bar" \
    tito-audit check examples/out/broken.jsonl "${chat[@]}"
run 2 "a file without token ids cannot be checked" \
    tito-audit check examples/out/text_only.jsonl "${chat[@]}"

# Realised drift: these rollouts say what the trainer scored, and in some rows it is not what was sampled.
run 1 "what was trained is not what was sampled: this has happened, it is no exposure" \
    tito-audit check examples/out/trained.jsonl "${chat[@]}"
# The report ends with the command that shows its worst rollout: the same one, once more without a terminal.
read -r -a worst < <(tito-audit check examples/out/trained.jsonl "${chat[@]}" | grep '^ *tito-audit show ')
run 0 "the worst rollout of that report, turn by turn" "${worst[@]}"
run 0 "what a code means, and what to do" \
    tito-audit explain training-ids-differ
run 1 "the rows under the bar, copied unchanged" \
    tito-audit check examples/out/trained.jsonl "${chat[@]}" -q --write-clean examples/out/clean.jsonl.gz
run 0 "the copy passes; compressed files are read as they are" \
    tito-audit check examples/out/clean.jsonl.gz "${chat[@]}" -q
run 0 "a policy trained twice: on the ids it sampled, and on what comes back from decode and encode" \
    python examples/train_policy.py
run 0 "from Python, where the owners have names: a tool's text was encoded with control tokens in it" \
    python examples/check_row.py examples/out/chat.jsonl control-token-in-tool-text examples/out/chat/tokenizer.json
