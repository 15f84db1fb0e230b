# The two to know: `make demo` and `make test`. `make help` lists the rest.
# PYTHON=... names an interpreter, OUT=... the demo's folder, WORKERS=... how many processes test,
# PYTEST_ARGS=... what pytest gets on top, CONSOLE_ARGS=... what the console gets, as in: --port 8080.
.POSIX:
.DEFAULT_GOAL := help
OUT = out/demo
NAME = turn
WORKERS = auto
RUN = .venv/bin/python -m
COMPILE = pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-annotate --custom-compile-command "make lock" --constraint requirements/pins.in

.PHONY: help demo console test soak lint compat bench promptfoo wheel lock clean base dev

help: ## says what there is
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile

demo: base ## installs into .venv and runs LOCAL's five turns offline; the report goes to out/demo
	@scripts/set_aside.sh "$(OUT)"
	@.venv/bin/local-agent demo --out "$(OUT)"

console: base ## installs into .venv and opens LOCAL behind its LINE gateway to a browser on this machine, offline
	@.venv/bin/local-agent console $(CONSOLE_ARGS)

test: dev lint ## installs what the tests need and runs every check
	$(RUN) pytest --numprocesses $(WORKERS) --dist loadfile --max-worker-restart 1 --cov --cov-report= $(PYTEST_ARGS)
	@echo "Coverage by branch, where every branch must be covered:"
	$(RUN) coverage report --fail-under 100

soak: dev ## checks long histories, and LOCAL on LINE, killed and cut off, on every store: half an hour
	HISTORY_OPERATIONS=20000 $(RUN) pytest --numprocesses 0 -s tests/history tests/integration/benchmarks/test_line.py $(PYTEST_ARGS)
	LINE_CRASH_MESSAGES=2500 $(RUN) pytest --numprocesses 0 -s tests/integration/line/test_crash.py $(PYTEST_ARGS)

lint: dev ## ruff, types, and the arrows between rooms
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) mypy
	.venv/bin/lint-imports

compat: dev ## runs the tests of ADK's behaviour with the oldest and the newest ADK allowed
	@scripts/compat.sh $(ADK)

bench: base ## runs one benchmark: make bench NAME=turn
	@mkdir -p out/bench
	$(RUN) benchmarks $(NAME) --json --out out/bench/$(NAME).json

promptfoo: base ## evaluates day 12 with promptfoo: needs npm, takes minutes the first time, sends nothing
	@mkdir -p out/promptfoo
	PROMPTFOO_PYTHON="$$PWD/.venv/bin/python" PROMPTFOO_CONFIG_DIR="$$PWD/out/promptfoo" PROMPTFOO_DISABLE_TELEMETRY=1 \
	PROMPTFOO_DISABLE_UPDATE=1 PROMPTFOO_DISABLE_REMOTE_GENERATION=true \
	npx --yes promptfoo@0.121.20 eval -c evals/promptfooconfig.yaml --no-progress-bar --no-cache --max-concurrency 1 \
		--output out/promptfoo/results.json

wheel: dev ## builds wheel and sdist into dist/
	$(RUN) build --no-isolation --outdir dist .

lock: base ## resolves requirements/*.lock anew inside pyproject's ranges (needs uv)
	@uv=$$(command -v .venv/bin/uv || command -v uv) || { echo "uv is needed: pip install uv"; exit 1; }; \
	"$$uv" $(COMPILE) --upgrade --extra line pyproject.toml --output-file requirements/base.lock && \
	"$$uv" $(COMPILE) --upgrade --extra line --extra postgres --extra firestore --constraint requirements/base.lock \
		pyproject.toml --output-file requirements/deploy.lock && \
	"$$uv" $(COMPILE) --upgrade --extra dev --constraint requirements/base.lock --constraint requirements/deploy.lock \
		pyproject.toml --output-file requirements/dev.lock

clean: ## removes what was installed, built and cached; what runs wrote to out/ stays
	rm -rf .venv build dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

base:
	@scripts/venv.sh base

dev:
	@scripts/debian.sh
	@scripts/venv.sh dev
