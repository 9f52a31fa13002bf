"""`python tools/bbr_draft`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bbr_draft import main

main()
