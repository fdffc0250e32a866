"""The JSON Schema of the fabric file takes what is read, and refuses what is refused for its form."""

import json

import jsonschema
import pytest
import yaml

from fabrics import ROOT
from tagloom.errors import InputError
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_schema import DIALECT, WORDS, fabric_schema

FABRICS = sorted(ROOT.glob("inventory/*/fabric.yml"))
REFUSED = {
    "an unknown key": "shap: {family: torus, dims: [4, 4]}\n",
    "text for a number": "shape: {family: torus, dims: [4, four]}\n",
    "one end": "shape: {family: torus, dims: [4, 4]}\nlinks: [['s0:g1']]\n",
    "an unknown speed": "shape: {family: torus, dims: [4, 4]}\nlinks: [{ends: ['s0:g1', 's1:g1'], speed: 101}]\n",
    "a number for an address": "shape: {family: ring, dims: [4]}\nhosts: {h0: {mac: 12}}\n",
    "an odd name": "name: -x\nshape: {family: torus, dims: [4, 4]}\n",
    "an odd state": "shape: {family: torus, dims: [4, 4]}\nswitches: {s0: {state: dead}}\n",
}


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft202012Validator.check_schema(fabric_schema())
    return jsonschema.Draft202012Validator(fabric_schema())


def test_it_takes_every_fabric_of_the_inventory_and_the_example_of_the_documents(validator):
    example = (ROOT / "docs" / "fabric-file.md").read_text("utf-8").split("```yaml\n")[1].split("```")[0]
    texts = [path.read_text("utf-8") for path in FABRICS]
    texts += [example, "shape: {family: ring, dims: [4]}\nflow_control: on\nhosts:\n", "links: [['a:g1', 'b:g1']]\n"]
    for text in texts:
        assert [error.message for error in validator.iter_errors(yaml.safe_load(text))] == []


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_it_refuses_what_is_refused(text, validator):
    assert not validator.is_valid(yaml.safe_load(text))
    with pytest.raises(InputError):
        parse_fabric(text, "test")


def test_every_key_is_described():
    schema = fabric_schema()
    assert schema["$schema"] == DIALECT
    for name, part in {"FabricForm": schema, **schema["$defs"]}.items():
        assert set(part.get("properties", ())) == set(WORDS.get(name, ())), name


def test_the_command_writes_it(tmp_path, answer):
    status, page = answer("schema", "-o", tmp_path / "fabric.schema.json")
    assert (status, page["schema"]) == (0, json.loads((tmp_path / "fabric.schema.json").read_text("utf-8")))
    assert answer("schema")[1] == {"schema": fabric_schema(), "wrote": ""}
