"""What a published site leaves out, and the names of its files."""

from tests.rigs.runs import bare_run

from diskbench.model.run import AskedRun
from diskbench.report.site.private import numbered, private_fields, scrubbed, secrets_of
from diskbench.report.site.published_evidence import safe_name


def row(*, rent=None, scope=None, **known):
    return AskedRun(bare_run(**({"provider": "ssh"} | known)), rent, scope)


def test_names_go_where_they_are_whole_words_and_the_longest_first():
    assert scrubbed("db1: /mnt/db1 on db10", ("/mnt/db1", "db1")) == "left out: left out on db10"
    assert scrubbed("nothing to hide", ()) == "nothing to hide"


def test_accounts_and_networks_are_secrets_of_every_site():
    rent = {"account": "acct-1", "subnet": "subnet-1", "disk": "gp2", "region": "eu-central-1"}
    rented = row(provider="aws", rent=rent, scope={"account": "123456789012"})
    found = secrets_of([rented], anonymous=False)
    assert set(found) == {"acct-1", "subnet-1", "123456789012"}


def test_hosts_paths_and_whatever_else_was_typed_are_secrets_of_an_anonymous_one():
    rent = {"disk": "thin", "vsphere": {"datastore": "bank-7", "esxi_host": "esx3.bank.example"}}
    rented = row(provider="vsphere", address="root@db1.bank.example", zone="dc-north", rent=rent)
    found = secrets_of([rented], anonymous=True)
    assert {"bank-7", "esx3.bank.example", "db1.bank.example", "dc-north"} <= set(found)
    assert "thin" not in found
    assert "root" not in found


def test_machines_are_numbered_in_the_order_of_their_first_run():
    rows = [row(address="c"), row(address="a"), row(hostname="b"), row(address="a"), row()]
    assert numbered(rows) == {"a": "machine 1", "b": "machine 2", "c": "machine 3"}


def test_a_field_that_nobody_thought_of_is_left_out():
    fields = (
        ("provider", "vsphere"), ("profile", "quick"), ("set.bs", "4k"), ("region", "dc-north"),
        ("machine", "db1"), ("vsphere.folder", "finance"), ("size", "20 GiB"),
    )  # fmt: skip
    told = private_fields(fields, {"db1": "machine 1"})
    assert told == (
        ("provider", "vsphere"), ("profile", "quick"), ("machine", "machine 1"),
        ("size", "20 GiB"),
    )  # fmt: skip


def test_a_safe_name_has_no_dot_but_those_of_its_endings() -> None:
    assert safe_name("x.php.b_bw.1.log", packed=True) == "x_php_b_bw_1_log.txt.zst"
    assert safe_name("FIO.JSON", packed=False) == "FIO.json"
    assert safe_name("..", packed=False) == "file.txt"
