"""Names of published files."""

from diskbench.report.site.published_evidence import safe_name


def test_a_safe_name_has_no_dot_but_those_of_its_endings() -> None:
    assert safe_name("x.php.b_bw.1.log", packed=True) == "x_php_b_bw_1_log.txt.zst"
    assert safe_name("FIO.JSON", packed=False) == "FIO.json"
    assert safe_name("..", packed=False) == "file.txt"
