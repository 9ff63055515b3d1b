"""`results show` cuts what it shows into phases; imported logs, too, by their seconds alone."""

import json

import jsonschema
import pytest
from tests.rigs.synthetic import Noise, bucket, flat

from diskbench.cli import main
from diskbench.store.document import results_schema


@pytest.fixture
def shown(tmp_path, monkeypatch, capfd):
    """Import a series as fio's logs; returns what `results show` with these flags prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("DISKBENCH_DATABASE_URL", f"sqlite:///{tmp_path}/rows.db")
    monkeypatch.setenv("DISKBENCH_EVIDENCE_URL", (tmp_path / "evidence").as_uri())

    def show(series, *flags):
        for kind, factor in (("iops", 1), ("bw", 4)):
            rows = (
                f"{n * 1000}, {round(v * factor)}, 0, 0, 0, 0\n" for n, v in enumerate(series, 1)
            )
            (tmp_path / f"gp2_{kind}.1.log").write_text("".join(rows))
        assert main.main(["results", "import", "gp2_iops.1.log", "gp2_bw.1.log"]) == 0
        capfd.readouterr()
        assert main.main(["results", "show", "-v", *flags]) == 0
        return capfd.readouterr().out

    return show


@pytest.mark.slow
def test_a_cliff_is_told_in_a_line_and_each_phase_in_one_of_its_own(shown):
    out = shown(bucket(900_000, 3000, 100, 900, Noise(sd=0.0), seed=1)).splitlines()
    assert "burst of 3,000 IOPS for 5:10 in gp2, then a baseline of 100 IOPS" in out
    begin = out.index("gp2: steady (baseline)")
    assert [line.split() for line in out[begin + 1 : begin + 3]] == [
        ["burst", "0:00–5:10", "3,000", "IOPS", "12.3", "MB/s"],
        ["baseline", "5:10–15:00", "100", "IOPS", "0.41", "MB/s"],
    ]


@pytest.mark.slow
def test_the_document_holds_the_phases_as_its_schema_says(shown):
    series = bucket(900_000, 3000, 100, 900, Noise(sd=0.0), seed=1)
    document = json.loads(shown(series, "--output", "json"))
    jsonschema.validate(document, results_schema())
    [found] = document["runs"][0]["phases"]
    assert [phase["kind"] for phase in found["phases"]] == ["burst", "baseline"]
    assert found["cliffs"][0]["at_s"] == 310
    found["phases"][0]["kind"] = "no such kind"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, results_schema())


def test_one_level_is_shown_without_a_headline(shown):
    out = shown(flat(500, 400, Noise(sd=0.02), seed=1))
    assert "gp2: steady\n" in out
    assert "then baseline" not in out
