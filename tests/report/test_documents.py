"""The documents that the JSON writer's tests compare with, and the page's samples, are of the form that the schema tells."""

import json
import sys
from pathlib import Path

import jsonschema
import pytest

HERE = Path(__file__).resolve().parent
SCHEMA = json.loads((HERE.parents[1] / "docs/diagnosis.schema.json").read_text())
WRITTEN = sorted((HERE / "golden").glob("*.json"))

sys.path.insert(0, str(HERE))
from sample_documents import samples  # noqa: E402


def validate(value, schema):
    jsonschema.validate(value, schema, jsonschema.Draft202012Validator)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_written_documents_are_of_the_schema(path):
    document = json.loads(path.read_text())
    validate(document, SCHEMA)
    assert document["healthy"] == (document["diagnoses"] == [])
    assert all(each["confidence"] >= 0.5 for each in document["diagnoses"])
    assert all(each["confidence"] < 0.5 for each in document["hints"])


def test_there_is_a_document_of_each_kind():
    documents = [json.loads(path.read_text()) for path in WRITTEN]
    assert any("blocked" in each for each in documents)
    assert any(each["healthy"] and each["peer_groups"] for each in documents)
    assert {claim["scope"] for each in documents for claim in each["diagnoses"]} >= {"ranks", "link", "all"}


def test_unknown_keys_and_missing_ones_are_refused():
    document = json.loads((HERE / "golden/heat.json").read_text())
    for spoil in (lambda claim: claim.pop("alternatives"), lambda claim: claim.update(blame="rank 2")):
        spoiled = json.loads(json.dumps(document))
        spoil(spoiled["diagnoses"][0])
        with pytest.raises(jsonschema.ValidationError):
            validate(spoiled, SCHEMA)


@pytest.mark.parametrize("key", ["diagnoses", "hints", "blocked", "what_if", "peer_groups", "victims"])
def test_the_pages_samples_have_the_conclusions_form(key):
    schema = {"$defs": SCHEMA["$defs"], **SCHEMA["properties"][key]}
    for name, document in samples().items():
        if name != "ugly" and key in document:
            validate(document[key], schema)
