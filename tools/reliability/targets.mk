# How far the program can be trusted: docs/reliability.md. `make hostile`, `make fuzz` and the others; each says what is missing.
.PHONY: hostile fuzz coverage mutants miri supply lowest reproducible long nightly

RELIABILITY := tools/reliability

hostile: test-extra ## Wrong input, faults and kills against this build; writes the table of docs/reliability.md (10 minutes)
	$(BIN)/python $(RELIABILITY)/hostile.py --write

fuzz: test-extra ## Each fuzz target for SECONDS (60): needs cargo-fuzz and clang or g++; then the Python parsers
	SECONDS_EACH=$(or $(SECONDS),60) $(RELIABILITY)/fuzz.sh
	$(BIN)/python $(RELIABILITY)/fuzz_python.py --seconds $(or $(SECONDS),60)

coverage: test-extra ## Lines that the tests reach: Rust of the five lower crates (cargo-llvm-cov), Python (coverage)
	$(RELIABILITY)/coverage.sh $(BIN)/python

mutants: test-extra ## Changed code that no test notices: lines that differ from BASE (main), or SHARD=k/n (cargo-mutants); MODULES of Python (mutmut)
	$(RELIABILITY)/mutants.sh $(BIN)/python

miri: ## Tests of the crates without I/O in Miri: needs a nightly with miri and rust-src
	$(RELIABILITY)/miri.sh

supply: setup ## Licences, advisories and duplicates (cargo-deny), locked Python packages, bill of materials in target/sbom
	$(RELIABILITY)/supply.sh $(BIN)/python

lowest: test-extra ## The tests with the lowest versions that pyproject.toml allows (uv)
	$(RELIABILITY)/lowest.sh $(BIN)/python

reproducible: need-cargo $(VENV)/bin/maturin ## Two wheels from two folders, compared byte by byte
	$(RELIABILITY)/reproducible.sh $(BIN)/maturin

long: setup ## 24 hours of virtual time, then PACKETS (1e9) packets: memory, counters, conservation
	$(BIN)/python $(RELIABILITY)/long.py --packets $(or $(PACKETS),1e9)

nightly: ## What a night has time for: advisories, each fuzz target for 30 minutes, Miri, lowest versions, two wheels, a tenth of the mutants
	STRICT=yes $(MAKE) supply
	$(MAKE) fuzz SECONDS=1800
	$(MAKE) miri lowest reproducible long
	$(MAKE) mutants SHARD=0/10
