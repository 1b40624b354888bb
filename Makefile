# A thin front to CMake, CTest and scripts/. `make help` lists the targets.
#   JOBS=n               parallel jobs (default: all cores)
#   CMAKE_ARGS="-D..."   more arguments for the configuration
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)

# $(call build,<preset>,<more arguments of the build>), $(call test,<preset>,<more arguments of ctest>)
build = cmake --preset $(1) $(CMAKE_ARGS) && cmake --build --preset $(1) -j $(JOBS) $(2)
test = ctest --preset $(1) -j $(JOBS) $(2)

.PHONY: help run test test-gpu build install-packages lint format layering docs asan tsan minimal soak bench bench-scan bench-gpu bench-gpu-scan bench-gpu-multigrid bench-likelihood results clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

run: install-packages  ## install packages, build the program, and run the built-in main job
	$(call build,release,--target antichain)
	build/bin/antichain train spirals

test: install-packages  ## install packages and a data set, build, and run every test
	@scripts/install_packages data || echo "no data sets from the distribution: their tests are skipped"
	@$(MAKE) --no-print-directory build
	$(call test,release)
	@scripts/count_cases build

test-gpu:  ## build and run what needs an NVIDIA GPU; prints how many cases ran there, and what ran on the host
	$(call build,cuda,--target tests-gpu)
	for test in kernels chain scan newton attention training recipes conformance; do \
	  ANTICHAIN_REQUIRE_GPU=1 build-cuda/tests/backends_cuda/test_cuda_$$test --gtest_brief=1 || exit 1; done

build:  ## build everything; the program is build/bin/antichain
	$(call build,release)

install-packages:  ## install what a build needs (Debian 12, Ubuntu 24.04); nothing to do when it is there
	@scripts/install_packages

lint:  ## check format, clang-tidy's findings, layering and stray paths; LINT="--changed COMMIT" is quicker
	@scripts/install_packages lint
	@scripts/lint $(LINT)

format:  ## rewrite the sources in the project's format
	@scripts/install_packages lint
	@scripts/lint --fix-format

layering:  ## check who includes whom
	@scripts/check_layering

docs:  ## write docs/ops.md anew, from the operators' definitions
	$(call build,release,--target antichain)
	build/bin/antichain ops --markdown > docs/ops.md

asan:  ## tests labelled `memory` under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call build,asan,--target tests-memory)
	$(call test,asan,-L '^memory$$')

tsan:  ## tests labelled `threads` under ThreadSanitizer
	$(call build,tsan,--target tests-threads)
	$(call test,tsan,-L '^threads$$')

minimal:  ## build without optional parts and run the conformance tests
	$(call build,minimal,--target antichain tests-conformance)
	$(call test,minimal,-L '^conformance$$')

soak:  ## attack the program for MINUTES (30): kills, full disks, damaged files; writes docs/results/reliability.md
	$(call build,release,--target antichain)
	@scripts/soak --minutes $(or $(MINUTES),30) --page

bench:  ## benchmarks of the CPU backend, with PyTorch beside them; writes docs/results/cpu.md
	@scripts/install_packages
	@scripts/install_packages bench
	@benchmarks/run

bench-scan:  ## benchmarks of scans on the CPU; writes docs/results/scan_cpu.md
	@benchmarks/run_scan

bench-gpu:  ## benchmarks of the cuda backend, with PyTorch beside them; writes docs/results/gpu.md
	@benchmarks/gpu/run

bench-gpu-scan:  ## recurrent layers by scans on a GPU, with cuDNN beside them; writes docs/results/scan_gpu.md
	@benchmarks/gpu/run_scan

bench-gpu-multigrid:  ## chains by multigrid on a GPU, with PyTorch beside them; writes docs/results/multigrid_gpu.md
	@benchmarks/gpu/run_multigrid

bench-likelihood:  ## runs with noise beside back-propagation; writes docs/results/likelihood.md; an hour
	@benchmarks/run_likelihood

results:  ## train every recipe and write docs/results.md; takes hours
	@scripts/install_packages data
	$(call build,release,--target antichain)
	@scripts/results

clean:  ## delete all build folders
	rm -rf build build-*
