"""What renting is in every cloud: an order, zones in turn, waits, the handover, the release."""
