"""Published figures, and own runs beside them."""
