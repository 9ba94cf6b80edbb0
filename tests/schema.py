"""A small validator for the JSON Schema words that docs/*.schema.json use; any other word is an error, not ignored."""

import json
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int, "number": (int, float),
}
SAYS_NOTHING = {"$schema", "title", "description"}


def close(schema):
    """The same schema, by which a field that it does not name is wrong: readers ignore such fields, tests do not."""
    for part in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        close(part)
    if "properties" in schema:
        schema["additionalProperties"] = False
    return schema


def load(name):
    return close(json.loads((DOCS / f"{name}.schema.json").read_text()))


def has_type(value, name):
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, TYPES[name])


def check(value, schema, where="$"):
    """Raises AssertionError with the place of the first value that is not as the schema says."""
    unknown = set(schema) - SAYS_NOTHING - {"type", "required", "properties", "additionalProperties", "items", "enum", "const",
                                            "minimum", "pattern"}
    assert not unknown, f"the validator does not know {unknown}"
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(has_type(value, name) for name in names), f"{where}: {value!r} is not {names}"
    assert "const" not in schema or value == schema["const"], f"{where}: {value!r} is not {schema['const']!r}"
    assert "enum" not in schema or value in schema["enum"], f"{where}: {value!r} is none of {schema['enum']}"
    if "minimum" in schema and value is not None:
        assert value >= schema["minimum"], f"{where}: {value!r} is below {schema['minimum']}"
    if "pattern" in schema and isinstance(value, str):
        assert re.search(schema["pattern"], value), f"{where}: {value!r} does not match {schema['pattern']}"
    if isinstance(value, dict):
        missing = set(schema.get("required", ())) - set(value)
        assert not missing, f"{where}: {missing} missing"
        known = schema.get("properties", {})
        assert schema.get("additionalProperties", True) or set(value) <= set(known), f"{where}: {set(value) - set(known)}"
        for key in value:
            if key in known:
                check(value[key], known[key], f"{where}.{key}")
    if isinstance(value, list):
        for index, item in enumerate(value):
            check(item, schema.get("items", {}), f"{where}[{index}]")
