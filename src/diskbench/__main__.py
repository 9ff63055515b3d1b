"""`python -m diskbench`."""

from diskbench.cli.main import main

main()
