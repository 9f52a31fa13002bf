# How far the program can be trusted: docs/reliability.md. `make attack`, `make fuzz` and the others; each says what is missing.
.PHONY: attack fuzz coverage mutants miri supply lowest reproducible long nightly

RELIABILITY := tools/reliability

attack: setup ## Attack this build and write the table of it into docs/reliability.md (10 minutes)
	$(BIN)/python $(RELIABILITY)/attack.py --write

fuzz: setup ## Each fuzz target for SECONDS (60): needs cargo-fuzz and clang or g++; then the Python parsers
	SECONDS_EACH=$(or $(SECONDS),60) $(RELIABILITY)/fuzz.sh
	$(BIN)/python $(RELIABILITY)/fuzz_python.py --seconds $(or $(SECONDS),60)

coverage: setup ## Lines that the tests reach: Rust of the five lower crates (cargo-llvm-cov), Python (coverage)
	$(RELIABILITY)/coverage.sh $(BIN)/python

mutants: setup ## Changed code that no test notices, a SAMPLE (0: all): 200 of queue, of congestion (cargo-mutants); 30 a module of stats and store
	$(BIN)/python $(RELIABILITY)/rust_mutants.py $(if $(SAMPLE),--sample $(SAMPLE))
	$(BIN)/python $(RELIABILITY)/mutants.py $(if $(SAMPLE),--sample $(SAMPLE))

miri: ## Tests of the crates without I/O in Miri: needs a nightly with miri and rust-src
	$(RELIABILITY)/miri.sh

supply: setup ## Licences, advisories and duplicates (cargo-deny), locked Python packages, bill of materials in target/sbom
	$(RELIABILITY)/supply.sh $(BIN)/python

lowest: setup ## The tests with the lowest versions that pyproject.toml allows (uv)
	$(RELIABILITY)/lowest.sh $(BIN)/python

reproducible: need-cargo $(VENV)/bin/maturin ## Two wheels from two folders, compared byte by byte
	$(RELIABILITY)/reproducible.sh $(BIN)/maturin

long: setup ## 24 hours of virtual time, then PACKETS (1e9) packets: memory, counters, conservation
	$(BIN)/python $(RELIABILITY)/long.py --packets $(or $(PACKETS),1e9)

nightly: ## What a night has time for: advisories, each fuzz target for 30 minutes, Miri, lowest versions, two wheels, all mutants
	STRICT=yes $(MAKE) supply
	$(MAKE) fuzz SECONDS=1800
	$(MAKE) miri lowest reproducible long
	$(MAKE) mutants SAMPLE=0
