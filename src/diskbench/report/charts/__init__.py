"""Charts: frozen rows in, a ChartFigure out. A chart and its rows are one file."""
