"""All figures of one metric, and all histories: commands read them subject by subject."""

from diskbench.model.history import Regressions
from diskbench.results.history import histories
from diskbench.results.trial_figures import figures_by_metric


def trial_figures(database, filters, metric, evidence=None):
    return figures_by_metric(database, filters, (metric,), evidence)[metric]


def find_regressions(database, filters, **more):
    undated = {}
    found = tuple(histories(database, filters, undated, **more))
    return Regressions(histories=found, undated=tuple(undated))
