"""Times as Azure writes them."""

import datetime as dt


def now() -> str:
    """This moment: 2023-01-11T06:17:21.2794447+00:00, with seven digits."""
    return f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%S.%f}0+00:00"
