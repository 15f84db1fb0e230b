"""The catalogue that ships, and what a catalogue may not be."""

import json
from importlib.resources import files

import pytest

from local_agent.areas import AREAS
from local_agent.catalog import CatalogError, load_catalog
from local_agent.diets import DIETS

RAW = json.loads((files("local_agent") / "data" / "catalog.json").read_text(encoding="utf-8"))


def _written(tmp_path, change):
    content = json.loads(json.dumps(RAW))
    change(content)
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_the_known_places_are_there_with_their_source():
    """The two real places are as the county's list of 2026-09-27 has them."""
    catalog = load_catalog()
    real = {place.name: place for place in catalog.places if not place.sample}
    assert set(real) == {"和米素食", "John手作蔬食"}
    hemi, john = real["和米素食"], real["John手作蔬食"]
    assert (hemi.area, hemi.address) == ("花壇鄉", "彰化縣花壇鄉彰員路三段117號")
    assert (hemi.phone, hemi.diets) == ("04-7864678", ("vegetarian",))
    assert (john.area, john.address) == ("彰化市", "彰化市華山路78號")
    assert john.phone == "04-7284398"
    assert john.diets == ("vegetarian", "vegan", "lacto", "ovo_lacto")
    assert {catalog.source(place.source).dated.isoformat() for place in real.values()} == {
        "2026-09-27"
    }


def test_sample_rows_are_marked_and_cannot_be_called():
    """A made-up row says 範例 in its name and has no telephone number; there are no others."""
    catalog = load_catalog()
    samples = [row for row in (*catalog.places, *catalog.events) if row.sample]
    assert all("範例" in row.name and row.phone == "" for row in samples)
    assert all(event.sample for event in catalog.events)
    assert len({row.area for row in samples}) >= 8


def test_the_sample_rows_show_every_diet():
    """Each diet has a place that offers it, so that each search has something to show."""
    offered = {diet for place in load_catalog().places for diet in place.diets}
    assert offered == set(DIETS)
    assert {place.area for place in load_catalog().places} <= set(AREAS)


def test_a_catalogue_is_read_from_a_file(tmp_path):
    """LOCAL_CATALOG names another file of the same form."""
    path = _written(tmp_path, lambda content: content["events"].clear())
    assert load_catalog(path).events == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(format=2),
        lambda c: c.update(extra=1),
        lambda c: c["places"][0].update(area="火星"),
        lambda c: c["places"][0].update(diets=["keto"]),
        lambda c: c["places"][0].update(sample=True),
        lambda c: c["places"][2].update(phone="04-0000000"),
        lambda c: c["places"][2].update(sample=False),
        lambda c: c["places"][2].update(source="county-vegetarian-festival"),
        lambda c: c["places"][0].update(source="nowhere"),
        lambda c: c["places"].append(c["places"][0]),
        lambda c: c["sources"].append(c["sources"][0]),
        lambda c: c["events"][0].update(ends="2001-01-01"),
        lambda c: c["events"][0].update(weekdays=[7]),
    ],
)
def test_a_broken_catalogue_is_one_sentence(tmp_path, change):
    """A row that breaks a rule stops the start with a code, and no content is repeated."""
    with pytest.raises(CatalogError) as caught:
        load_catalog(_written(tmp_path, change))
    assert caught.value.error_code == "CATALOG_INVALID"
    assert caught.value.numbers["faults"]
    assert str(caught.value).count(".") == 1
    assert caught.value.__suppress_context__


def test_a_missing_file_is_one_sentence(tmp_path):
    """A file that cannot be read is a code and a sentence without its path."""
    with pytest.raises(CatalogError) as caught:
        load_catalog(tmp_path / "none.json")
    assert caught.value.error_code == "CATALOG_INVALID"
    assert str(tmp_path) not in str(caught.value)
