# What a user gets: `make web`, `make wheel`, `make site`, `make release`; `make cross` and `make crates` look at what others build.
.PHONY: web wheel site release cross crates

RELEASE := $(CARGO_TARGET_DIR)/release-files

web: $(VENV)/.extra-web ## The page that runs experiments in a browser, in target/web: for any web host, or to be opened as a file
	$(BIN)/python tools/web/build.py "$(CARGO_TARGET_DIR)/web"

# With the links that run an example in the browser, if `make web` has written that page.
BROWSER = $(if $(wildcard $(CARGO_TARGET_DIR)/web/index.html),--browser "$(CARGO_TARGET_DIR)/web")

wheel: setup ## The wheel, tried in a clean virtual environment outside of the source
	@rm -rf "$(RELEASE)/try"
	$(BIN)/maturin build --quiet --profile python --out "$(RELEASE)/try"
	$(BIN)/python tools/release/try_wheel.py "$(RELEASE)"/try/*.whl --compile

# The crates that are published, and what else is compiled for other systems.
CRATES := $(addprefix -p haltere-,units queue congestion transport plan sim)
TARGETS := aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-pc-windows-msvc x86_64-pc-windows-gnu

cross: need-cargo ## The published crates and the extension, checked for other systems: Linux on ARM, macOS, Windows, browsers (needs rustup; 15 minutes)
	rustup target add wasm32-unknown-unknown $(TARGETS)
	cargo check --quiet --target wasm32-unknown-unknown $(CRATES)
	@for target in $(TARGETS); do \
	  echo "$$target"; PYO3_CROSS=1 PYO3_CROSS_PYTHON_VERSION=3.11 cargo check --quiet --target "$$target" $(CRATES) -p haltere-python; done

crates: need-cargo ## The published crates as packages, compiled outside of the workspace
	cargo package --quiet --allow-dirty $(CRATES)

LABS_RUN = --labs "$(CARGO_TARGET_DIR)/labs"

site: $(VENV)/.extra-site ## The site in target/site; RUST=no leaves out the crates' documents, LABS=no the course's executed labs. After `make web` its examples run in the browser
	$(BIN)/python tools/site/build.py "$(CARGO_TARGET_DIR)/site" $(if $(filter no,$(RUST)),,--rust) $(if $(filter no,$(LABS)),,$(LABS_RUN)) $(BROWSER)

release: $(VENV)/.extra-site ## Wheel (manylinux2014, by Zig's linker), source distribution, site, bill of materials; versions compared first
	$(BIN)/python tools/release/versions.py --release
	@rm -rf "$(RELEASE)/dist"
	$(BIN)/python -m pip install --quiet 'ziglang>=0.13'
	PATH="$(abspath $(BIN)):$$PATH" maturin build --quiet --profile python --zig --compatibility manylinux2014 --out "$(RELEASE)/dist"
	$(BIN)/maturin sdist --out "$(RELEASE)/dist"
	$(BIN)/python tools/release/try_wheel.py "$(RELEASE)"/dist/*.whl --fetch --compile
	$(BIN)/python tools/site/build.py "$(RELEASE)/site" --rust $(LABS_RUN) $(BROWSER)
	tar -C "$(RELEASE)" -czf "$(RELEASE)/dist/haltere-site.tar.gz" site
	$(BIN)/python tools/reliability/sbom.py "$(RELEASE)/dist/haltere.cdx.json"
	cd "$(RELEASE)/dist" && sha256sum * > SHA256SUMS && cat SHA256SUMS
