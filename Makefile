# make run      builds and runs the server; works on a fresh Debian 12 or 13
# make test     runs every test but those labelled matrix, churn or night
# make nightly  runs all checks for which .ci/run is too short
# make lab      measures the server beside others within minutes; lab/run takes longer
# CMake does the build (CMakeLists.txt, CMakePresets.json); this file only combines commands.
# `make run SETUP=true` installs no packages.

SETUP ?= scripts/setup
JOBS ?= $(shell nproc)
# System tests are idle for half of their time.
TEST_JOBS ?= $(shell echo $$((2 * $(JOBS))))
ARGS ?=
PORT ?= 8443
FROM ?=
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0
FUZZERS ?= h2_session h1 multipart target fields tls_records proxy_header forwarded upload_fields webdav

.PHONY: help run test nightly lab fuzz docs build setup deb deb-test static-test docker-test format clean configure

help:
	@echo 'make run           install what is missing, build, serve www/ on https://localhost:8443'
	@echo '                   (otherwise: make run PORT=9000 ARGS="--threads 4")'
	@echo 'make test          install what is missing, build, run the tests'
	@echo 'make nightly       all checks for which .ci/run is too short (from one on: make nightly FROM=deb)'
	@echo 'make lab           measure the server beside others (some experiments: make lab ARGS="idle sizes")'
	@echo 'make fuzz          libFuzzer on each of FUZZERS for FUZZ_SECONDS (60); takes clang++-19'
	@echo 'make docs          the reference of the library in build/docs/html, by Doxygen'
	@echo 'make build         build everything (PRESET=release|debug|asan|tsan|clang|fuzz)'
	@echo 'make setup         install the Debian packages and tools for building and testing'
	@echo 'make deb           build Debian packages of the program and the library in build/package/deb'
	@echo 'make deb-test      build the packages and try them on a bare Debian 12 (as root)'
	@echo 'make static-test   build the program without shared libraries and try it in an empty folder'
	@echo 'make docker-test   build the container image and try it (docker or buildah)'
	@echo 'make format        clang-format over all sources'
	@echo 'make clean         remove what was built'

# Builds only the program, in build/release, where `make test` finds it. Another preset
# (`make run PRESET=asan`) also configures its tests.
run: PRESET ?= run
test build configure: PRESET ?= release

run:
	@$(SETUP) $(if $(filter run,$(PRESET)),run,build)
	@$(MAKE) --no-print-directory configure PRESET=$(PRESET)
	@cmake --build --preset $(PRESET) --parallel $(JOBS) --target h2server
	@mkdir -p uploads
	build/$(PRESET:run=release)/h2server --port $(PORT) --root www --upload-dir uploads --self-signed $(ARGS)

test:
	@$(SETUP) test
	@$(MAKE) --no-print-directory build PRESET=$(PRESET)
	ctest --preset $(PRESET) --parallel $(TEST_JOBS) --label-exclude '^(matrix|churn|night)$$' $(ARGS)
	@scripts/check-skips $(PRESET)

nightly:
	@scripts/nightly $(FROM)

lab:
	@$(SETUP) lab
	@$(MAKE) --no-print-directory build PRESET=release
	@lab/run --quick $(ARGS)

fuzz:
	@$(MAKE) --no-print-directory configure PRESET=fuzz
	@cmake --build --preset fuzz --parallel $(JOBS) --target $(FUZZERS:%=%_fuzzer)
	@printf '%s\n' $(FUZZERS) | xargs --max-procs=$(JOBS) -I{} fuzz/run {} $(FUZZ_SECONDS) $(FUZZ_SEED)

docs:
	@$(SETUP) docs
	@mkdir -p build/docs
	OUTPUT=build/docs doxygen docs/reference/Doxyfile
	@echo 'open build/docs/html/index.html'

build: configure
	@cmake --build --preset $(PRESET) --parallel $(JOBS)

# Prints the output only if it fails.
configure:
	@mkdir -p build
	@cmake --preset $(PRESET) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }

setup:
	@$(SETUP) test

deb: PRESET = package
deb:
	@$(SETUP) package
	@$(MAKE) --no-print-directory build PRESET=$(PRESET)
	@rm -rf build/$(PRESET)/deb
	@cpack --config build/$(PRESET)/CPackConfig.cmake
	@ls build/$(PRESET)/deb/*.deb

deb-test: deb
	@deploy/debian/test.sh
	@deploy/debian/systemd.sh

static-test:
	@$(MAKE) --no-print-directory build PRESET=static
	@deploy/static/test.sh

docker-test:
	@deploy/docker/test.sh

format:
	@scripts/format --fix

clean:
	rm -rf build
