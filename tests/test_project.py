"""The files of the project agree with each other: dependencies, notebooks, plotly.js, the README."""

from __future__ import annotations

import ast
import doctest
import json
import re
import tomllib
from pathlib import Path

import nbformat
import pytest

from npcmem.serve import LESSONS, PAGES, TEACHING, shelf_of

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("**/*.ipynb"))
TEMPLATE = ROOT / "npcmem/share/jupyter/voila/templates/npcmem"


def test_environment_yml_names_what_pyproject_names():
    listed = re.findall(r"^  - ([a-z][\w.-]*[<>=][^\n]*)$", (ROOT / "environment.yml").read_text("utf-8"), re.MULTILINE)
    wanted = [
        f"python{PROJECT['requires-python']}",
        *PROJECT["dependencies"],
        *PROJECT["optional-dependencies"]["pages"],
    ]
    assert sorted(listed) == sorted(wanted)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_tell_and_modules_do(path):
    assert path.stat().st_size < 100_000
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    assert "widgets" not in book.metadata
    for cell in book.cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None
            assert len([line for line in cell.source.splitlines() if line.strip()]) <= 10
            tree = ast.parse(cell.source)
            assert not any(isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda) for node in ast.walk(tree))
            assert "plotly" not in cell.source


def test_plotly_js_is_the_one_that_plotly_py_draws_with():
    import plotly

    script = (TEMPLATE / "static/plotly-basic.min.js").read_text("utf-8")
    ours = re.search(r"plotly\.js \(basic - minified\) v([\d.]+)", script).group(1)
    full = (Path(plotly.__file__).parent / "package_data/plotly.min.js").read_text("utf-8")[:200]
    assert ours == re.search(r"plotly\.js v([\d.]+)", full).group(1)
    assert f"plotly-basic.min.js?v={ours}" in (TEMPLATE / "index.html.j2").read_text("utf-8")


def test_the_voila_template_still_has_the_blocks_ours_replaces():
    import jupyter_core.paths

    found = [Path(root) / "voila/templates/lab/index.html.j2" for root in jupyter_core.paths.jupyter_path()]
    theirs = next(path for path in found if path.exists()).read_text("utf-8")
    for needed in ("log.js()", "spinner.css()", 'include_js("static/voila-style.js")', "block body_header"):
        assert needed in theirs
    header = theirs.partition("block body_header")[2].partition("endblock body_header")[0]
    ours = (TEMPLATE / "index.html.j2").read_text("utf-8")
    for copied in ('<div id="rendered_cells" style="display: none">', "{{ spinner.html() }}", 'data-voila="voila"'):
        assert copied in header and copied in ours
    assert "{{ voila_setup_helper_functions() }}" in header and "{{ voila_setup_helper_functions() }}" in ours


@pytest.mark.parametrize("path", [path for path in TEMPLATE.iterdir() if path.is_file()], ids=lambda path: path.name)
def test_no_template_names_another_host(path):
    assert "//" not in re.sub(r"\{#.*?#\}", "", path.read_text("utf-8"), flags=re.DOTALL)


def test_every_page_has_its_notebook_and_every_notebook_its_page():
    folder = ROOT / "notebooks"
    shelf = shelf_of(folder)
    assert (shelf.pages, shelf.lessons, shelf.teaching) == (PAGES, LESSONS, TEACHING)
    assert {folder / page.notebook for page in shelf.served} == {*folder.glob("*.ipynb"), *folder.glob("*/*.ipynb")}
    for page in PAGES:
        title = nbformat.read(ROOT / "notebooks" / page.notebook, as_version=4).metadata["title"]
        assert title == f"{page.question} · npcmem"
        assert len(page.title) <= 24


def test_what_stands_around_the_pages_has_their_colours():
    def colours(text, selector):
        block = text.partition(selector)[2].partition("}")[0]
        return dict(re.findall(r"(--\w+): (#\w+)", block))

    pages = (ROOT / "npcmem/dashboards/static/page.css").read_text("utf-8")
    around = (TEMPLATE / "site.css.j2").read_text("utf-8")
    light, dark = colours(around, "body {"), colours(around, "(prefers-color-scheme: dark) { body {")
    assert len(light) == len(dark) == 7
    assert light.items() <= colours(pages, ".npc {").items()
    assert (
        dark.items()
        <= colours(
            pages, '(prefers-color-scheme: dark) { body[data-voila="voila"] .npc-root:not(.npc-paper) .npc {'
        ).items()
    )


def test_the_readme_is_true():
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert results.attempted > 0
    assert results.failed == 0


def test_no_file_names_a_path_of_a_machine():
    text = json.dumps(PROJECT)
    for pattern in ("**/*.py", "**/*.toml", "**/*.md", "**/*.js", "**/*.ipynb"):
        for path in ROOT.glob(pattern):
            if not any(part.startswith(".") for part in path.relative_to(ROOT).parts):
                text += path.read_text("utf-8") if "plotly-basic" not in path.name else ""
    assert not re.search(r"/(home|Users|root)/\w", text.replace('"/(home', ""))
