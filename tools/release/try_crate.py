"""Compares the control of a crate that `haltere new control --lang rust-crate` wrote with Reno, as which it begins: `python tools/release/try_crate.py FOLDER`.

The crate must have been built (`make -C FOLDER`). Both run in its own extension, in the networks of the tests of controls in Python. Every value of
every table must be the same. Exit status 0: it is so.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "tests" / "python"


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares the control of a new crate with Reno.")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the crate, which is built")
    folder = parser.parse_args().folder.resolve()
    name = folder.name
    sys.path[:0] = [str(folder / "python"), str(TESTS)]
    # The command of the crate puts its extension in the place of Haltere's.
    importlib.import_module(f"{name.replace('-', '_')}.__main__")
    tests = importlib.import_module("test_outside")
    for network, changes in tests.NETWORKS.items():
        ours = tests.tables(tests.experiment("reno", **changes))
        tests.same(ours, tests.tables(tests.experiment(f"rust:{name}", **changes)))
        print(f"{network}: {sum(table.num_rows for table in ours.values())} rows, all the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
