"""What a person reads: tables and pages."""
