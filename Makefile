# Everything starts here; meson and ninja do the building. `make help` lists the targets.
# Each target first calls scripts/setup, which installs the Debian packages that are missing and says so.
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS_PER_FUZZER ?= 60
PYTHON ?= python3
# Words that filter tests: make test ONLY="unit/test_base dump"
ONLY ?=

.PHONY: all demo test test-full test-builds bench lint fuzz screenshots portable install clean help
.DEFAULT_GOAL := all

all: ## build build/darter
	@scripts/setup build
	@scripts/configure build
	@ninja -C build

demo: ## start a small Python program, look into it and record it
	@scripts/setup demo
	@scripts/configure build
	@ninja -C build darter
	@scripts/demo build/darter

test-builds:
	@scripts/setup test
	@scripts/setup browser || echo "make: the tests that need a browser will be skipped"
	@scripts/configure build -Dtests=true
	@scripts/configure build-asan -Dtests=true -Db_sanitize=address,undefined
	@CC=clang scripts/configure build-fuzz -Dtests=false -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
	@ninja -C build --quiet
	@ninja -C build-asan --quiet
	@ninja -C build-fuzz --quiet

test: test-builds ## run every proof at a small size
	@$(PYTHON) tests/run.py $(ONLY)

test-full: test-builds ## run every proof at its full size; figures go to bench/RESULTS.md
	@$(PYTHON) tests/run.py --full $(ONLY)

bench: ## measure against other profilers (ONLY=record: one part); figures go to bench/RESULTS.md
	@scripts/setup bench
	@scripts/configure build-bench --buildtype=release -Dtests=false
	@ninja -C build-bench --quiet darter bench/take bench/gather bench/nap
	@$(PYTHON) bench/run.py --full $(ONLY)

lint: ## clang-format, clang-tidy, cppcheck
	@scripts/setup lint
	@scripts/configure build -Dtests=true
	@ninja -C build --quiet
	@scripts/lint

fuzz: ## run each fuzz target for SECONDS_PER_FUZZER (60)
	@scripts/setup test
	@CC=clang scripts/configure build-fuzz -Dtests=false -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
	@ninja -C build-fuzz --quiet
	@scripts/fuzz build-fuzz $(SECONDS_PER_FUZZER)

screenshots: ## pictures of the terminal output, in docs/screenshots, and of the flame graph, in docs/img
	@scripts/setup lint # has what unit tests are built with
	@scripts/setup browser
	@scripts/configure build -Dtests=true
	@ninja -C build darter tests/hammer/render
	@$(PYTHON) scripts/screenshots build/darter docs/screenshots
	@$(PYTHON) scripts/flamegraph-pictures docs/img

portable: ## build-portable/darter-x86_64 and darter-aarch64: one file each, for any Linux
	@scripts/setup portable
	@scripts/portable

install: ## install below PREFIX (/usr/local), in DESTDIR
	@scripts/setup build
	@scripts/as-owner scripts/configure build-install --prefix=$(PREFIX) --libdir=lib --buildtype=release -Dtests=false
	@scripts/as-owner ninja -C build-install --quiet
	@rm -f build-install/meson-logs/install-log.txt # it may be root's
	@DESTDIR=$(DESTDIR) meson install -C build-install --no-rebuild
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then PATH=$$PATH:/usr/sbin:/sbin ldconfig || true; fi

clean: ## remove all that was built
	rm -rf build build-asan build-bench build-fuzz build-install build-portable

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
