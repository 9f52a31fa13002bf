# nix run . -- run experiment.toml; nix develop: a shell for work on Haltere.
{
  description = "A laboratory for how flows share a bottleneck";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: {
        default = pkgs.python3Packages.buildPythonApplication {
          pname = "haltere";
          version = "0.1.0";
          pyproject = true;
          src = self;
          cargoDeps = pkgs.rustPlatform.importCargoLock { lockFile = ./Cargo.lock; };
          nativeBuildInputs = with pkgs.rustPlatform; [ cargoSetupHook maturinBuildHook ];
          dependencies = with pkgs.python3Packages; [ matplotlib numpy pyarrow websockets ];
        };
      });
      devShells = each (pkgs: {
        default = pkgs.mkShell { packages = with pkgs; [ cargo clippy rustfmt python3 chromium wireshark-cli ]; };
      });
    };
}
