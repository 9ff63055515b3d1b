"""A provider's own options: stored by group as ever, read through the provider's model."""

import pytest

from diskbench.errors import InvalidValue
from diskbench.model.matrix import CellFields
from diskbench.model.options import RentSpec, all_options, own_options
from diskbench.plan.matrix_form import matrix_schema, read_form
from diskbench.plan.rent_options import RENT_OPTIONS, rent_spec
from diskbench.plugins import plugin, plugins
from diskbench.providers.azure.plugin import AzureOptions
from diskbench.providers.options import EmulationOptions


def test_what_is_stored_is_what_differs_from_its_default():
    given = {"disk": "Premium_LRS", "size": 20.0, "cache": "readonly", "time_scale": 60.0}
    spec = rent_spec(plugin("azure"), given)
    assert spec is not None
    assert AzureOptions.of(spec) == AzureOptions(cache="readonly")
    assert EmulationOptions.of(spec) == EmulationOptions(time_scale=60)
    assert (spec.text("cache"), spec.time_scale, spec.flag("bursting")) == ("readonly", 60.0, False)
    again = RentSpec.model_validate_json(spec.model_dump_json())
    assert (again, hash(again)) == (spec, hash(spec))
    assert dict(again.groups()) == {"azure": {"cache": "readonly"}, "lab": {"time_scale": 60.0}}


def test_options_that_no_provider_or_model_takes_are_kept():
    stored = {"disk": "fast", "stratus": {"fabric": "blue", "lanes": 4}}
    spec = RentSpec.model_validate(stored)
    assert spec.model_dump(exclude_defaults=True) == stored
    assert spec.text("fabric") == "blue"
    spec = RentSpec.model_validate({"azure": {"cache": "readonly", "of_later": 3}})
    assert spec.group("azure") == {"cache": "readonly", "of_later": 3}


@pytest.mark.parametrize("stored", [{"dsk": "gp2"}, {"azure": "readonly"}])
def test_what_is_no_field_and_no_group_is_refused(stored: dict[str, object]):
    with pytest.raises(ValueError, match="valid dictionary"):
        RentSpec.model_validate(stored)


def test_a_value_out_of_range_names_its_flag():
    with pytest.raises(InvalidValue, match=r"--time-scale: 0\.5") as refused:
        rent_spec(plugin("lab"), {"disk": "gp2", "size": 20, "time_scale": 0.5})
    assert refused.value.field == "time_scale"


def test_who_pays_is_the_account_of_the_spec():
    for one in plugins():
        if one.account_option is not None:
            spec = rent_spec(one, {"disk": "x", one.account_option: "them"})
            assert spec.account == "them"
            assert not spec.groups()


def test_an_option_has_one_name_in_a_provider_and_what_it_refuses_is_one_of_renting():
    for one in plugins():
        names = [option.name for option in own_options(one.name)]
        assert len(names) == len(set(names)), one.name
        assert not set(names) & (set(CellFields.model_fields) - {"host"}), one.name
        assert set(one.refuses) <= {*RENT_OPTIONS, "account", "size"}, one.name


def test_every_own_option_is_a_field_of_a_matrix_and_of_its_schema():
    known = matrix_schema({})["$defs"]["CellFields"]["properties"]
    for one, option in all_options():
        assert option.name in known, (one.name, option.name)
        assert option.about


def test_a_misspelt_option_in_a_matrix_is_found_with_its_line():
    typed = "name: x\ndefaults:\n  provider: azure\n  cachee: readonly\n"
    _, matrix, (mistake,), _ = read_form(typed)
    assert (mistake.line, mistake.advice) == (4, "known: diskbench matrix schema")
    assert matrix.defaults.given() == {"provider": "azure"}, "it is not guessed"


def test_the_region_of_a_zone_is_told_by_the_plugin():
    assert plugin("aws").region_of("eu-central-1a") == "eu-central-1"
    assert plugin("gcp").region_of("europe-west3-b") == "europe-west3"
    assert plugin("azure").region_of("1") is None
