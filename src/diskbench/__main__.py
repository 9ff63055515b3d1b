"""`python -m diskbench`."""

import sys

from diskbench.cli.main import main

sys.exit(main())
