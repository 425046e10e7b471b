#!/usr/bin/env python3
"""Keeps the table of what S3 knows, crates/gateway/src/allowed/model.tsv, with the service model of botocore.

    scripts/s3-model.py            writes the table anew: what is there keeps its verdict, what is new gets `no`
    scripts/s3-model.py --check    fails with the names of what the installed botocore knows and the table does not

A row has the operation, the member (`-` for the operation itself), where it is in a request, its name there, its type
and a verdict of the gateway: `yes` (honoured), `no` (501) or `only V V` (these values are honoured, others give 501).
Where a type ends in `!`, the member is required. Elements are listed of operations that are not `no`.
"""

import argparse
import sys
from pathlib import Path

import botocore
import botocore.session

TABLE = Path(__file__).resolve().parent.parent / "crates/gateway/src/allowed/model.tsv"
HEAD = "# Made by scripts/s3-model.py from the service model of botocore {}; verdicts are written by hand.\n"


def kind(shape, required):
    values = getattr(shape, "enum", None)
    return ("|".join(values) if values else shape.type_name) + ("!" if required else "")


def elements(shape, path):
    """The elements below a structure of a document, each with its path."""
    for name, member in shape.members.items():
        is_flat = member.type_name == "list" and member.serialization.get("flattened")
        word = member.serialization.get("name", name)
        inner = member
        below = f"{path}/{word}"
        if member.type_name == "list":
            inner = member.member
            below = below if is_flat else f"{below}/{inner.serialization.get('name', 'member')}"
        yield below, kind(inner, name in shape.required_members)
        if inner.type_name == "structure":
            yield from elements(inner, below)


def rows(model, is_refused):
    """Every row of the table without its verdict."""
    for name in model.operation_names:
        operation = model.operation_model(name)
        yield name, "-", operation.http["method"], operation.http["requestUri"], "-"
        shape = operation.input_shape
        for member, inner in (shape.members if shape else {}).items():
            place = inner.serialization.get("location", "body")
            place = {"querystring": "query"}.get(place, place)
            word = inner.serialization.get("name", member)
            yield name, member, place, word, kind(inner, member in shape.required_members)
            if place == "body" and inner.type_name == "structure" and not is_refused(name):
                for path, its_kind in elements(inner, word):
                    yield name, path, "element", path, its_kind


def read(path):
    """The verdicts of a table, by row."""
    lines = path.read_text().splitlines() if path.exists() else []
    fields = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {tuple(words[:-1]): words[-1] for words in fields}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--table", type=Path, default=TABLE)
    flags = parser.parse_args()
    known = read(flags.table)
    refused = {row[0] for row, verdict in known.items() if row[1] == "-" and verdict == "no"}
    named = {row[0] for row in known}
    model = botocore.session.get_session().get_service_model("s3")
    found = list(rows(model, lambda name: name in refused or name not in named))
    if flags.check:
        new = [row for row in found if row not in known]
        gone = [row for row in known if row not in set(found)]
        for words, what in [(new, "new in"), (gone, "not in")]:
            for row in words:
                print(f"{what} botocore {botocore.__version__}: {row[0]} {row[1]} ({' '.join(row[2:])})")
        if new or gone:
            print("hint: scripts/s3-model.py writes the table, in which new rows are refused", file=sys.stderr)
        return 1 if new or gone else 0
    text = "".join("\t".join([*row, known.get(row, "no")]) + "\n" for row in found)
    flags.table.write_text(HEAD.format(botocore.__version__) + text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
