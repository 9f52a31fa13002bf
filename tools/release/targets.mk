# What a user gets: `make wheel`, `make site`, `make release`.
.PHONY: wheel site release

RELEASE := $(CARGO_TARGET_DIR)/release-files

wheel: setup ## The wheel, tried in a clean virtual environment outside of the source
	@rm -rf "$(RELEASE)/try"
	$(BIN)/maturin build --quiet --profile python --out "$(RELEASE)/try"
	$(BIN)/python tools/release/try_wheel.py "$(RELEASE)"/try/*.whl --compile

site: $(VENV)/.extra-site ## The site in target/site, from the documents; RUST=no leaves out the crates' documents
	$(BIN)/python tools/site/build.py "$(CARGO_TARGET_DIR)/site" $(if $(filter no,$(RUST)),,--rust)

release: $(VENV)/.extra-site ## Wheel (manylinux2014, by Zig's linker), source distribution, site, bill of materials; versions compared first
	$(BIN)/python tools/release/versions.py --release
	@rm -rf "$(RELEASE)/dist"
	$(BIN)/python -m pip install --quiet 'ziglang>=0.13'
	PATH="$(abspath $(BIN)):$$PATH" maturin build --quiet --profile python --zig --compatibility manylinux2014 --out "$(RELEASE)/dist"
	$(BIN)/maturin sdist --out "$(RELEASE)/dist"
	$(BIN)/python tools/release/try_wheel.py "$(RELEASE)"/dist/*.whl --fetch --compile
	$(BIN)/python tools/site/build.py "$(RELEASE)/site" --rust
	tar -C "$(RELEASE)" -czf "$(RELEASE)/dist/haltere-site.tar.gz" site
	$(BIN)/python tools/reliability/sbom.py "$(RELEASE)/dist/haltere.cdx.json"
	cd "$(RELEASE)/dist" && sha256sum * > SHA256SUMS && cat SHA256SUMS
