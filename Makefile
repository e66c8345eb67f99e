# Everything runs in .venv, which is made on first use. `make demo` needs Python >= 3.11, Rust and a C compiler.
# Stamp files in .venv say what has been done; a second run does only what has changed.

PYTHON ?= python3
TITO_SHARED ?= ../shared
FUZZ_SECONDS ?= 60

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# CI builds what Cargo.lock says, and nothing else.
LOCKED := $(if $(CI),--locked)
# Elsewhere every run draws new examples; a judgement must not depend on luck.
ifdef CI
export PROPTEST_RNG_SEED := 1
endif
# The same for the build that pip starts.
export MATURIN_PEP517_ARGS := $(LOCKED)

.PHONY: demo test lint lint-rust lint-python bench side-by-side conformance fuzz-smoke mutants wheel ray clean
.DELETE_ON_ERROR:

demo: $(VENV)/.installed examples/out/.made  ## build, and audit the example rollouts
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh

test: $(VENV)/.installed $(VENV)/.tools  ## all tests that need nothing from outside
	cargo test $(LOCKED)
	$(BIN)/pytest --benchmark-disable benches/bench_check.py benches/bench_guard.py benches/bench_strategies.py
	$(BIN)/pytest

lint: lint-rust lint-python  ## format, lints and types, of Rust and Python

lint-rust:
	cargo fmt --check
	cargo fmt --check --manifest-path fuzz/Cargo.toml
	cargo clippy $(LOCKED) --all-targets -- -D warnings
	cargo clippy $(LOCKED) --all-targets --features python -- -D warnings

lint-python: $(VENV)/.installed $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy python tests examples benches
	$(BIN)/mypy conformance fuzz
	$(BIN)/stubtest tito_audit._core --mypy-config-file pyproject.toml --allowlist tests/stubtest_allowlist.txt

bench: $(VENV)/.installed $(VENV)/.tools  ## criterion for the core, pytest-benchmark end to end
	cargo bench $(LOCKED) --bench core
	$(BIN)/pytest benches/bench_check.py benches/bench_guard.py benches/bench_strategies.py --benchmark-only

side-by-side: $(VENV)/.installed $(VENV)/.tools $(VENV)/.peers  ## our check beside other tokenizers' decode and encode
	$(BIN)/python benches/side_by_side.py $(SIDE_BY_SIDE)

conformance: $(VENV)/.installed $(VENV)/.tools  ## the handed cases and tokenizers, where they are at hand
	@if [ -d "$(TITO_SHARED)" ]; then \
		TITO_SHARED="$(abspath $(TITO_SHARED))" $(BIN)/pytest conformance; \
	else \
		echo "conformance: skipped, there is no folder $(TITO_SHARED) (set TITO_SHARED to where it is)"; \
	fi

# What a run learns stays in fuzz/work/corpus, and the next one starts from it.
FUZZ := fuzz/target/release/audit -max_total_time=$(FUZZ_SECONDS) -max_len=400 -timeout=60 -rss_limit_mb=8000 \
	-artifact_prefix=fuzz/work/ -verbosity=0 -print_final_stats=1 $(if $(CI),-seed=1)

fuzz-smoke: fuzz/target/release/audit fuzz/work/tokenizers.json  ## FUZZ_SECONDS of coverage-guided fuzzing
	$(FUZZ) fuzz/work/corpus fuzz/work/seeds

mutants: $(VENV)/.installed $(VENV)/.tools  ## plant faults in a copy of the core: do the tests notice each?
	$(BIN)/python tests/mutate.py

wheel: $(VENV)/.installed  ## the wheel that users get, tried in an environment of its own
	rm -rf dist $(VENV)-wheel
	$(PIP) wheel --no-deps --wheel-dir dist .
	$(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/python -m pip --quiet --disable-pip-version-check install dist/*.whl
	cd $(VENV)-wheel && bin/python -c "import tito_audit" && bin/tito-audit --version
	rm -rf $(VENV)-wheel

ray: wheel  ## the wheel inside a real Ray actor, in an environment of its own
	$(PYTHON) -m venv --upgrade-deps $(VENV)-ray
	$(VENV)-ray/bin/python -m pip --quiet --disable-pip-version-check install dist/*.whl --group ray
	PYTHONPATH=tests $(VENV)-ray/bin/python -m pytest -p no:cacheprovider tests/test_ray_actor.py  # where actors find it
	rm -rf $(VENV)-ray

clean:  ## all that was made, but the compiled dependencies in target/
	rm -rf $(VENV) $(VENV)-wheel $(VENV)-ray .cache dist examples/out fuzz/work python/tito_audit/_core.*.so
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks

# The engine alone is instrumented, by the wrapper.
fuzz/target/release/audit: $(wildcard fuzz/*.rs rust/*.rs rust/*/*.rs) fuzz/Cargo.toml fuzz/Cargo.lock fuzz/rustc.sh Cargo.toml
	cd fuzz && RUSTC_WRAPPER="$$PWD/rustc.sh" cargo build --release $(LOCKED)
	@touch $@

fuzz/work/tokenizers.json: fuzz/prepare.py $(wildcard tests/*.py) $(VENV)/.installed $(VENV)/.tools
	$(BIN)/python $<

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name it with PYTHON=")'
	@cargo --version >/dev/null || { echo "Rust is needed: cargo was not found" >&2; exit 1; }
	$(PYTHON) -m venv --upgrade-deps $(VENV)
	@touch $@

# Editable, with the release profile: changes in python/ need no new build, changes in rust/ do.
$(VENV)/.installed: $(VENV)/.created pyproject.toml Cargo.toml $(wildcard Cargo.lock rust/*.rs rust/*/*.rs)
	@echo "building the package (the first time takes a few minutes)"
	$(PIP) install --editable .
	@touch $@

$(VENV)/.tools: pyproject.toml | $(VENV)/.installed
	$(PIP) install --group dev
	@touch $@

$(VENV)/.peers: pyproject.toml | $(VENV)/.installed
	$(PIP) install --group bench
	@touch $@

examples/out/.made: examples/make_examples.py $(VENV)/.installed
	$(BIN)/python $<
	@touch $@
