# make run    the server on a fresh Debian 12, from nothing
# make test   every test there is
# make lab    measures the server beside others, in minutes; lab/run does so at length
# The build itself is CMake's (CMakeLists.txt, CMakePresets.json); this file only strings commands
# together. `make run SETUP=true` leaves the machine's packages alone.

SETUP ?= scripts/setup
JOBS ?= $(shell nproc)
ARGS ?=
PORT ?= 8443
PRESET ?= release
FUZZ_SECONDS ?= 60
FUZZ_CORPUS ?= $(wildcard ../shared/corpora/fuzz-http2)

.PHONY: help run test lab fuzz build setup docker-test format clean configure

help:
	@echo 'make run           install what is missing, build, serve www/ on https://localhost:8443'
	@echo '                   (otherwise: make run PORT=9000 ARGS="--threads 4")'
	@echo 'make test          install what is missing, build, run every test'
	@echo 'make lab           measure the server beside others (some experiments: make lab ARGS="idle sizes")'
	@echo 'make fuzz          libFuzzer on the HTTP/2 sessions for FUZZ_SECONDS (60); takes clang++-19'
	@echo 'make build         build everything (PRESET=release|debug|asan|tsan|clang)'
	@echo 'make setup         install the Debian packages and tools for building and testing'
	@echo 'make docker-test   build the container image and try it (docker or buildah)'
	@echo 'make format        clang-format over all sources'
	@echo 'make clean         remove what was built'

run:
	@$(SETUP) run
	@$(MAKE) --no-print-directory configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target h2server
	@mkdir -p uploads
	build/$(PRESET)/h2server --port $(PORT) --root www --upload-dir uploads --self-signed $(ARGS)

test:
	@$(SETUP) test
	@$(MAKE) --no-print-directory build
	ctest --preset $(PRESET) --parallel $(JOBS) --label-exclude 'matrix|churn' $(ARGS)

lab:
	@$(SETUP) lab
	@$(MAKE) --no-print-directory build PRESET=release
	@lab/run --quick $(ARGS)

fuzz:
	@$(MAKE) --no-print-directory configure PRESET=fuzz
	@cmake --build --preset fuzz --parallel $(JOBS) --target h2_session_fuzzer
	@mkdir -p build/fuzz/corpus build/fuzz/found
	build/fuzz/h2_session_fuzzer -max_len=4096 -timeout=10 -max_total_time=$(FUZZ_SECONDS) \
	  -artifact_prefix=build/fuzz/found/ build/fuzz/corpus fuzz/found $(FUZZ_CORPUS)

build: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS)

# Quiet unless it fails: what a working configuration found out is of no interest.
configure:
	@mkdir -p build
	@cmake --preset $(PRESET) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }

setup:
	@$(SETUP) test

docker-test:
	@deploy/docker/test.sh

format:
	@scripts/format --fix

clean:
	rm -rf build
