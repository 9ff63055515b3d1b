"""`diskbench advise` answers with one table of 80 columns, and refuses what has no meaning."""

import json
from pathlib import Path

import jsonschema
import pytest

from diskbench.cli import recorded
from diskbench.cli.main import main

ASKED = ("advise", "--size", "500", "--iops", "10000", "--p99", "2ms", "--mix", "70:30")
LOADS = Path(__file__).parents[2] / "cases/loads"
LOAD = ("--size", "9", "--load")
RATES = ("--size", "5", "--iops", "1000", "--mb-per-s", "200")


@pytest.fixture
def table(diskbench):
    def ask(*words):
        out = diskbench(*words)
        assert max(map(len, out.splitlines())) <= 80
        return out

    return ask


def test_the_cheapest_comes_first_and_it_says_why_others_fail_and_what_is_documented_and_old(table):
    out = table(*ASKED)
    lines = out.splitlines()
    assert lines[0].startswith("10,000 IOPS of 4 KiB (41.0 MB/s), 70% reads, 500 GiB, continuous")
    numbered = [line.split() for line in lines[3:] if line[:2].strip().isdigit()]
    totals = [float(words[-1].rstrip("~").replace(",", "")) for words in numbered[:12]]
    assert totals == sorted(totals)
    assert lines.index("cost unknown:") > lines.index(next(ln for ln in lines if " gp3 " in ln))
    assert "  gp2 500 GiB, $50.00: 3,000 IOPS (disk IOPS), 1,500 after 1 h\n" in out
    assert "Too slow in any size: StandardSSD_LRS (6,000 IOPS (disk IOPS))" in out
    out = " ".join(out.split())
    assert "p99 yes: promised worst case; ?: usually met, but not promised: measure" in out
    assert "–: undocumented: measure" in out
    assert "~ a price is more than a year old, or undated" in out


def test_a_row_is_explained_with_what_the_load_uses_and_each_source(call):
    _, out, _ = call(*ASKED, "--explain", "4")
    assert out.startswith("aws gp3 500 GiB, 10,000 IOPS, 125 MiB/s, us-east-1\n")
    assert "disk IOPS: the load uses 10,000 of 10,000 I/Os/s" in out
    assert "price    disk $75.00, machine $165.56, both $240.56 a month" in out
    assert "general-purpose.md (2023-05-11)" in out


def test_mb_per_s_are_answered_in_mb_per_s(table):
    out = table("advise", "--size", "500", "--mb-per-s", "300", "--for", "burst:30m")
    assert out.startswith("286 IOPS of 1 MiB (300 MB/s), 100% reads, 500 GiB, 30 min a day\n")
    assert "gp3 500 GiB, $40.00: 131 MB/s (disk throughput)" in out
    assert "3,000/287" in out  # what has to be bought of both


def test_a_region_without_prices_has_none_and_a_lost_database_leaves_the_catalogue(call):
    code, out, err = call(*ASKED, "--region", "ap-south-1", "--provider", "aws")
    assert (code, "aws ap-south-1" in out) == (0, True), out
    assert out.index("cost unknown:") < out.index(" gp2 ")
    assert "diskbench catalog prices --refresh --region ap-south-1" in err
    code, out, err = call(*ASKED, "--database-url", "sqlite:////nowhere/x.db")
    assert (code, " gp3 " in out) == (0, True), out
    assert "stored runs are left out" in err


def test_an_area_and_the_users_machine_narrow_what_is_asked(table):
    out = table(*ASKED, "--region", "europe")
    assert "aws eu-central-1, azure westeurope, gcp europe-west3" in " ".join(out.split())
    out = table("advise", "--size", "100", "--iops", "3000", "--fits-vm", "c6a.large")
    assert "a month, on demand: aws us-east-1\n" in out
    assert out.count("c6a.large") >= 3


def test_the_document_has_its_schema(call):
    _, schema, _ = call("schema", "advise")
    document = call.json(*ASKED)
    jsonschema.validate(document, json.loads(schema))
    assert document["format"] == 1
    first = document["rows"][0]
    assert first["total_usd"] == pytest.approx(first["disk_usd"] + first["machine_usd"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--size", "500"], "advise needs a load"),
        (["--iops", "5"], "Missing option '--size'"),
        (["--size", "0", "--iops", "5"], "--size 0 is not a size"),
        (["--size", "nan", "--iops", "5"], "--size nan is not a size"),
        (["--size", "5", "--iops", "-3"], "--iops -3 is not a rate"),
        (["--size", "5", "--iops", "nan"], "--iops nan is not a rate"),
        (["--size", "5", "--iops", "5", "--mix", "70"], "--mix '70' is not a mix"),
        (["--size", "5", "--iops", "5", "--mix", "0:0"], "--mix '0:0' is not a mix"),
        (["--size", "5", "--iops", "5", "--p99", "2"], "--p99 '2' is not a latency"),
        (["--size", "5", "--iops", "5", "--block", "1"], "--block 1 is not a block size"),
        (["--size", "5", "--iops", "5", "--for", "long"], "'long' is not a duration"),
        (["--size", "5", "--iops", "5", "--for", "0"], "--for 0 is not a duration"),
        (["--size", "5", "--iops", "5", "--region", "mars"], "unknown region 'mars'"),
        (["--size", "5", "--iops", "5", "--provider", "x"], "'x'"),
        (["--size", "5", "--iops", "5", "--fits-vm", "c6a.larg"], "did you mean c6a.large"),
        (["--size", "5", "--iops", "5", "--explain", "99"], "--explain 99: the table has"),
        ([*RATES, "--block", "4k"], "--iops 1,000 of --block 4k are 4.096 MB/s, not 200"),
        ([*LOAD, "missing.txt"], "missing.txt cannot be read: No such file"),
        ([*LOAD, f"{LOADS}/azure.csv", "--iops", "5"], "--iops and --load both define"),
        ([*LOAD, f"{LOADS}/iostat.txt", "--device", "sdz"], "'sdz'"),
        (["--size", "9", "--device", "sda", "--iops", "5"], "--device needs a recorded load"),
        ([*LOAD, f"{LOADS}/azure.csv", "--prove", "x.yaml"], "diskbench profiles from-load"),
    ],
)
def test_what_has_no_meaning_is_refused(words, said, capsys):
    assert main(["advise", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_recorded_load_is_answered_by_how_often_it_could_be_carried(table):
    out = table("advise", "--size", "200", "--load", str(LOADS / "cloudwatch.csv"))
    words = " ".join(out.split())
    assert words.startswith(
        "cloudwatch.csv, the disk: 10 min, 2,000 IOPS on average, 2,500 at most; 75% reads; "
        "200 GiB; sums of 300 s"
    )
    assert "carries: how many times the recorded load, from full burst credit" in words
    assert " × " in out


def test_prove_writes_a_matrix_that_can_be_planned(call):
    code, _, err = call(*ASKED, "--prove", "proof.yaml", "--top", "4", "--provider", "aws")
    assert (code, "proof.yaml: 24 cells" in err) == (0, True), err
    assert "diskbench matrix plan proof.yaml --offline" in err
    outlook = call.json("matrix", "plan", "proof.yaml", "--offline")
    assert len(outlook["cells"]) == 24
    assert {block["disk"] for block in outlook["blocks"]} <= {"gp2", "gp3", "io1", "io2"}
    assert "target=p99 < 2ms" in outlook["blocks"][0]["block"]


def test_a_chart_is_drawn_with_the_demand_as_a_line(call, here):
    code, _, _ = call(*ASKED, "--chart", "a.svg")
    drawn = (here / "a.svg").read_text()
    assert (code, "pd-ssd" in drawn) == (0, True), drawn
    assert "line: the rate required" in drawn


def test_a_recorded_load_becomes_a_profile_that_fio_accepts(call, here):
    out = call.done("profiles", "from-load", str(LOADS / "cloudwatch.csv"))
    (here / "mine.fio.j2").write_text(out)
    code, said, _ = call("profiles", "validate", "mine.fio.j2")
    assert (code, said.split(";")[0]) == (0, "mine: 3 steps")


def test_a_record_without_an_end_is_read_up_to_the_limit(call, monkeypatch):
    monkeypatch.setattr(recorded, "IMPORT_BYTES", 4096)
    code, _, err = call("advise", "--size", "10", "--load", "/dev/zero")
    assert (code, "/dev/zero is larger than 512 MiB" in err) == (2, True), err
