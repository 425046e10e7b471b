"""Notebooks as pages of the guide: executed, and rendered with what their cells print."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient


def rendered(path: Path) -> str:
    """Execute a notebook in its folder, and render it in Markdown."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    parts = [part for cell in notebook.cells for part in _cell(cell)]
    made = f"<!-- Made of {path.name} by `make test-python`, which executes it; do not edit. -->"
    return "\n\n".join([made, *parts]) + "\n"


def _cell(cell: nbformat.NotebookNode) -> list[str]:
    if cell.cell_type == "markdown":
        return [str(cell.source)]
    if cell.cell_type != "code":
        return []
    printed = "".join(_text(output) for output in cell.outputs).rstrip("\n")
    code = f"```python\n{cell.source}\n```"
    return [code, f"```text\n{printed}\n```"] if printed else [code]


def _text(output: nbformat.NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text) if output.name == "stdout" else ""
    lines = str(output.data.get("text/plain", "")).split("\n")
    return "\n".join(line.rstrip() for line in lines) + "\n"
