"""Charts: frozen rows in, a ChartFigure out; one file per kind. altair is imported on drawing."""

from diskbench.report.charts.figure import ChartFigure, document, picture, svg
from diskbench.report.charts.iops import rate_charts
from diskbench.report.charts.latency import latency_chart
from diskbench.report.charts.palette import PAGE, PICTURE, Palette
from diskbench.report.charts.summary import summary_picture

__all__ = [
    "PAGE",
    "PICTURE",
    "ChartFigure",
    "Palette",
    "document",
    "latency_chart",
    "picture",
    "rate_charts",
    "summary_picture",
    "svg",
]
