# tagloom's commands for a checkout. `make help` prints this file's own comments.
SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
READY := $(VENV)/.ready

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## everything the other targets need, in .venv

$(READY): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "python3 is missing:  sudo apt install python3 python3-venv"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; Debian 12 and Ubuntu 24.04 have it:  sudo apt install python3 python3-venv"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv is missing:  sudo apt install python3-venv"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing the locked set of libraries into $(VENV) (a minute or so the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv --no-compile -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

demo: $(READY) ## the whole mission on the virtual rack, narrated: plan, prove, push, ping, save power
	@$(BIN)/tagloom demo

lab: $(READY) ## start the virtual rack of the testbed, to play with (end it with: .venv/bin/tagloom lab down)
	@$(BIN)/tagloom lab up inventory/testbed/fabric.yml

# Two processes for each processor, since half of them wait for switches; a file's tests stay in one, since
# they share racks. Files begin in the order that tests/conftest.py gives, not with those of most tests.
PYTEST = $(BIN)/python -m pytest -n $$(($$(nproc) * 2)) --dist loadfile --no-loadscope-reorder

test: $(READY) ## all laws and most tests; slow ones are left to test-slow and test-daily, most examples of laws to test-long
	@$(PYTEST)

test-slow: $(READY) ## tests that take seconds of a processor, or half a minute on racks: CI runs them after make test
	@$(PYTEST) -m "slow and not daily and not long"

test-daily: $(READY) ## what is like a slow test, in other circumstances: once a day, and before a release
	@$(PYTEST) -m "daily and not long"

quick: $(READY) ## before each commit: what needs no rack, no compiled loops and no minutes
	@$(PYTEST) --ignore tests/laws --ignore tests/whole -m "not rack and not kernel and not law and not slow and not daily and not long"

# Compiled kernels are left out: what they do is not seen, and laws compare them with plain loops.
coverage: $(READY) ## which branches make test, test-slow and test-daily take, their processes measured: what is missing, file by file; 95 % at least
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -n $$(($$(nproc) * 2)) --dist loadfile --no-loadscope-reorder -m "not long"
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

# Begins nothing more after LONG_MINUTES of its cases, nor after as many of its laws; of cases, those in LONG_FILES.
LONG_MINUTES := 600
LONG_FILES := tests
LONG_MUTANTS := 42
# Examples by chance, and what failed once again, unless a seed is named.
LONG_SEED :=
LONG_ORDER = -o faulthandler_timeout=0 \
	$(if $(LONG_SEED),--shuffle $(LONG_SEED) --hypothesis-seed $(LONG_SEED),--shuffle $$RANDOM)

test-long: $(READY) ## all cases and campaigns, every law on examples drawn anew, some mutants; what failed once is tried again
	@$(PYTEST) $(LONG_ORDER) --minutes $(LONG_MINUTES) -m long $(LONG_FILES) --hypothesis-profile explore
	@$(PYTEST) $(LONG_ORDER) --minutes $(LONG_MINUTES) tests/laws --hypothesis-profile explore
	@$(if $(filter 0,$(LONG_MUTANTS)),,$(BIN)/python tests/mutants/run.py --sample $(LONG_MUTANTS))

# Each page has a rack of its own, so tests of one file need not stay together. The site is read where `make docs` was run.
PAGES ?= tests/docs

pages: $(READY) ## what a reader meets and takes long: console blocks, a newcomer's path by README alone, the site in a browser
	@$(PYTEST) --dist load -m long $(PAGES)

SAMPLE := 240
SEED := 1

mutants: $(READY) ## change the code at SAMPLE places and see whether a test fails: benchmarks/results/mutants.md
	@mkdir -p benchmarks/results
	@$(BIN)/python tests/mutants/run.py --sample $(SAMPLE) --seed $(SEED) -o benchmarks/results/mutants.md

FUZZ_COUNT := 100000

fuzz: $(READY) ## damage every file that a command reads, and say what is neither read nor refused (FUZZ_COUNT=100000)
	@$(BIN)/python tests/fuzz/campaign.py --count $(FUZZ_COUNT)

# A real kernel is never asked how it ended: what counts is the last line of the log, and that it is there. Where no kernel
# can be started (exit status 2), nothing was proven, and that is a failure unless ALLOW_SKIP=1. The time limit is for a
# machine that is busy with other things.
DATAPLANE_SECONDS := 1440
DATAPLANE_OPTIONS :=

dataplane: $(READY) ## plans, texts and proofs against a real Linux kernel's bridges (this machine's own, or user-mode-linux)
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	timeout -k 10 $(DATAPLANE_SECONDS) $(BIN)/python tests/dataplane/run.py $(DATAPLANE_OPTIONS) 2>&1 | tee "$$log"; \
	status=$${PIPESTATUS[0]}; \
	if [ "$$status" = 0 ] && tail -n 1 "$$log" | grep -qxE '[1-9][0-9]* fabrics, 0 disagreements'; then exit 0; fi; \
	if [ "$$status" = 2 ] && [ "$(ALLOW_SKIP)" = 1 ]; then \
		echo "make dataplane: nothing was proven; no failure, as ALLOW_SKIP=1 says"; exit 0; \
	fi; \
	echo "make dataplane: not proven"; exit 1

# What PyPI has, in an environment of its own; Debian has slurmctld, slurm-client, prometheus. CLAB_SCHEMA=FILE is
# schemas/clab.schema.json of containerlab's repository; BATFISH_CLASSES=PATH the compiled classes of Batfish's common
# project, and the libraries that it needs; NETBOX_URL and TAGLOOM_NETBOX_TOKEN an empty NetBox to fill.
neighbours: $(READY) ## what we export, read by the very tools it is for, as far as they are here
	@test -x .neighbours/bin/netlab || { $(PYTHON) -m venv .neighbours && \
		.neighbours/bin/python -m pip install --quiet --disable-pip-version-check 'networklab>=26,<27' 'ansible-builder>=3,<4'; }
	@$(BIN)/python -m pytest -q -rs tests/report/test_neighbours.py tests/report/test_real_readers.py tests/cli/test_netbox.py \
		tests/cli/test_completion.py tests/collection

check: $(READY) ## format, lint, types, Ansible
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(MAKE) --no-print-directory --jobs 2 --output-sync check-types check-types-of-tests check-ansible

check-types:
	@$(BIN)/mypy

check-types-of-tests:
	@$(BIN)/mypy --config-file tests/mypy.ini --cache-dir .mypy_cache/tests

check-ansible:
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/ansible-lint --offline -q

man: $(READY) ## the manual page, dist/tagloom.1, from what --help says
	@mkdir -p dist
	@$(BIN)/argparse-manpage --module tagloom.cli --function parser --prog tagloom --project-name tagloom \
		--manual-title "Operator's manual" --output dist/tagloom.1

DOCS_READY := $(VENV)/.docs

$(DOCS_READY): $(READY) docs/requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-virtualenv -r docs/requirements.lock
	@touch $@

docs: $(DOCS_READY) ## the site, dist/site/index.html, every link checked; it is read without a network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict && echo "wrote     dist/site/index.html"

collection: $(READY) ## the Ansible collection, dist/tagloom-fabric-VERSION.tar.gz, from the roles and plugins here
	@$(BIN)/python collection/build_collection.py

# Of an environment with the wheel and what it needs, by the locked set; the tool has an environment of its own.
sbom: $(READY) ## what `pip install` of the wheel brings, with versions and licences: dist/tagloom.cdx.json (CycloneDX)
	@mkdir -p dist; place=$$(mktemp -d); trap 'rm -rf "$$place"' EXIT; \
	$(PYTHON) -m venv --without-pip "$$place/wheel" && $(PYTHON) -m venv "$$place/tool" && \
	pip="$$place/tool/bin/python -m pip --quiet --disable-pip-version-check" && \
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$$place" . && \
	$$pip --python "$$place/wheel/bin/python" install --constraint requirements.lock "$$place"/*.whl && \
	$$pip install 'cyclonedx-bom>=7.5,<8' && \
	"$$place/tool/bin/cyclonedx-py" environment "$$place/wheel/bin/python" --pyproject pyproject.toml \
		--output-reproducible --output-format JSON --output-file dist/tagloom.cdx.json && \
	echo "wrote     dist/tagloom.cdx.json"

# Ansible installs each of its checkers into an environment of its own, from the network.
SANITY := validate-modules ansible-doc action-plugin-docs runtime-metadata compile empty-init ignores import line-endings \
	no-assert no-get-exception no-illegal-filenames no-smart-quotes replace-urlopen shebang symlinks \
	use-argspec-type-path use-compat-six yamllint pep8

sanity: collection ## Ansible's sanity tests of the collection (needs a package index)
	@place=$$(mktemp -d); trap 'rm -rf "$$place"' EXIT; home=$$place/ansible_collections/tagloom/fabric; \
	mkdir -p "$$home" "$$place/.ansible/test/cache" && $(PYTHON) -m venv "$$place/venv" && \
	"$$place/venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint requirements.lock ansible-core && \
	pip=$$(sed -n "s/^ *pip='\([0-9.]*\)',$$/\1/p" "$$place"/venv/lib/*/site-packages/ansible_test/_internal/python_requirements.py) && \
	cp collection/get_pip.py "$$place/.ansible/test/cache/get_pip_$${pip//./_}.py" && \
	tar xzf dist/tagloom-fabric-*.tar.gz -C "$$home" && echo tests/output >"$$home/.gitignore" && git -C "$$home" init -q && \
	python=$$("$$place/venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') && \
	cd "$$home" && HOME="$$place" PATH="$$place/venv/bin:$$PATH" ansible-test sanity --requirements --python "$$python" \
		$(addprefix --test ,$(SANITY))

# With whatever builds an image here: podman, buildah or docker.
IMAGE_BUILDER := $(firstword $(foreach each,podman buildah docker,$(if $(shell command -v $(each)),$(each))))

image: ## a container image with tagloom, tagged tagloom:VERSION
	@test -n "$(IMAGE_BUILDER)" || { echo "no builder is here:  sudo apt install podman"; exit 2; }
	@version=$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml) && $(IMAGE_BUILDER) build -t "tagloom:$$version" .

settle: $(READY) ## keep TRANSCRIPT, of tagloom record, and mark the lines that transcripts confirm
	@$(BIN)/python tooling/settle_marks.py $(TRANSCRIPT)

reference: $(READY) ## the pages of docs/reference and the drawings, from the code
	@$(BIN)/python docs/reference/write.py
	@$(BIN)/python docs/pictures/draw.py

proofs: ## check the theorems of tooling/proofs with Coq, and print what each assumes (needs Debian's coq)
	@tooling/proofs/build.sh dist/proofs

RELEASE_OPTIONS :=

release: $(READY) ## show what a release would change: version, changelog, commit, tag (RELEASE_OPTIONS="--version 0.2.0 --do")
	@$(BIN)/python tooling/release.py $(RELEASE_OPTIONS)

bench: $(READY) ## benchmarks: ratios against peers in the same run
	@for b in benchmarks/*.py; do echo "== $$b"; $(BIN)/python $$b || exit 1; done

lock: ## renew requirements.lock and docs/requirements.lock within the ranges of pyproject.toml
	@$(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header --group dev pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --no-annotate --no-header --group pyproject.toml:docs \
		--constraint requirements.lock -o docs/requirements.lock

clean: ## remove what the other targets made
	@rm -rf $(VENV) .neighbours dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .ansible

.PHONY: help setup demo lab test test-slow test-daily quick coverage test-long pages mutants fuzz dataplane neighbours check check-types check-types-of-tests check-ansible man docs collection sbom sanity image proofs release reference bench lock clean
