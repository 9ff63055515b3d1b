"""fio job files in, fio output out: pure."""
