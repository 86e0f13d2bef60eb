"""Makes the JSON schemas with which tests/system/test_kubernetes.py validates manifests.

    schemas.py OUTPUT KUBERNETES CRD…

KUBERNETES: a folder of the package kubernetes-validate, kubernetes-json-schema/vX.Y.Z-local-strict.
CRD: files of custom resource definitions. The schemas in OUTPUT stand alone, under the names by which
kubeconform asks for them, and refuse fields that they do not know.
"""

import json
import pathlib
import sys

import yaml

KINDS = ["configmap-v1", "deployment-apps-v1", "horizontalpodautoscaler-autoscaling-v2",
         "ingress-networking-v1", "networkpolicy-networking-v1", "poddisruptionbudget-policy-v1",
         "secret-v1", "service-v1"]
_OUTER = "/api/_definitions.json#/$defs/"


def references_of(node):
    """Yields the names of the definitions that a schema refers to, and makes these references local."""
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str):
            name = target.rsplit("/", 1)[1]
            assert target in (_OUTER + name, "#/$defs/" + name), target
            node["$ref"] = "#/$defs/" + name
            yield name
        for value in node.values():
            yield from references_of(value)
    elif isinstance(node, list):
        for value in node:
            yield from references_of(value)


def alone(schema, definitions):
    """Returns the schema with all definitions that it needs."""
    schema = {key: value for key, value in schema.items() if key != "$id"}
    needed, found = set(), set(references_of(schema))
    while found:
        needed |= found
        found = {name for known in found for name in references_of(definitions[known])} - needed
    return {**schema, "$defs": {name: definitions[name] for name in sorted(needed)}}


def closed(node):
    """Makes a schema of a custom resource refuse unknown fields, where it allows none on purpose."""
    if isinstance(node, dict):
        if "properties" in node and not node.get("x-kubernetes-preserve-unknown-fields"):
            node.setdefault("additionalProperties", False)
        if node.pop("x-kubernetes-int-or-string", False):
            node.pop("anyOf", None)
            node["type"] = ["integer", "string"]
        for value in node.values():
            closed(value)
    elif isinstance(node, list):
        for value in node:
            closed(value)


def custom(definition):
    """Yields (name, schema) for each version of a custom resource definition."""
    spec = definition["spec"]
    for version in spec["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        closed(schema)
        schema["properties"]["metadata"] = {"type": "object"}
        group = spec["group"].split(".")[0]
        yield f"{spec['names']['kind'].lower()}-{group}-{version['name']}", schema


def main(output, kubernetes, *files):
    output, kubernetes = pathlib.Path(output), pathlib.Path(kubernetes)
    output.mkdir(parents=True, exist_ok=True)
    definitions = json.loads((kubernetes / "_definitions.json").read_text())["$defs"]
    schemas = {kind: alone(json.loads((kubernetes / f"{kind}.json").read_text()), definitions)
               for kind in KINDS}
    for file in files:
        for document in yaml.safe_load_all(pathlib.Path(file).read_text()):
            if document and document["kind"] == "CustomResourceDefinition":
                schemas.update(custom(document))
    for name, schema in schemas.items():
        (output / f"{name}.json").write_text(json.dumps(schema))


if __name__ == "__main__":
    main(*sys.argv[1:])
