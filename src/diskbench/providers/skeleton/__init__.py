"""The steps of renting common to all clouds: order, zones in turn, waits, handover, release."""
