"""How Sphinx builds the site: ``python -m sphinx -W -b html docs build/site``.

The pages are the Markdown files of this folder as they are. Made at build time: a page for every
public name, the gallery from ``examples/``, the list of changes from its fragments, and the start
page, which is README.md followed by the table of contents.
"""

import inspect
import re
import sys
from pathlib import Path

import skembed

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.append(str(ROOT / "tests"))

from house import public_objects  # noqa: E402 (the tests read the public names by it, too)

project = "skembed"
author = "The skembed developers"
copyright = author
version = release = skembed.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]
exclude_patterns = ["changes/[a-z]*"]

autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # autodoc writes them out
numpydoc_validation_checks = set()  # the tests do

myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]

copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "min_reported_time": 5,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"skembed {version}"
html_theme_options = {
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
html_sidebars = {"index": []}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False

PAGE = """{title}
{underline}

.. currentmodule:: {module}

.. auto{kind}:: {name}
"""


def write_reference(app):
    """Write the source of a page for every public name."""
    folder = HERE / "generated"
    folder.mkdir(exist_ok=True)
    for dotted, obj in public_objects().items():
        module, _, name = dotted.rpartition(".")
        kind = {True: "class", False: "function"}[inspect.isclass(obj)]
        if not callable(obj):
            kind = "data"
        text = PAGE.format(
            title=name, underline="=" * len(name), module=module, kind=kind, name=name
        )
        path = folder / f"{dotted}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def linked_names(text):
    """Return the API page with the names in its tables linked to their pages."""
    of = {dotted.rpartition(".")[2]: dotted for dotted in public_objects()}

    def link(match):
        name = match[1]
        return f"| [`{name}`](generated/{of[name]})" if name in of else match[0]

    return re.sub(r"^\| `(\w+)`", link, text, flags=re.MULTILINE)


def changes():
    """Return the fragments of changes as sections."""
    titles = {
        "ENH": "New",
        "FIX": "Mended",
        "PERF": "Faster",
        "DOC": "Documentation",
        "TST": "Tests",
        "MNT": "Upkeep",
    }
    found = {prefix: [] for prefix in titles}
    for path in sorted((HERE / "changes").glob("[a-z]*.md")):
        prefix, _, text = path.read_text(encoding="utf-8").partition(":")
        found[prefix].append("- " + text.strip().replace("\n", "\n  "))
    return "".join(
        f"\n## {titles[prefix]}\n\n" + "\n".join(items) + "\n"
        for prefix, items in found.items()
        if items
    )


def on_the_site(text):
    """Return a page with its links out of this folder as they are on the site."""
    text = re.sub(r"\]\((?:\.\./)?examples/?\)", "](gallery/index)", text)
    text = text.replace("](../README.md)", "](index.md)")
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]*\)", r"\1", text)


def read_page(app, docname, content):
    """Change the source of a page, where the site has more than its file."""
    text = content[0]
    if docname == "index":
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        readme = readme.partition("\n## Reading on\n")[0]
        readme = readme.replace("](docs/", "](").replace("](LICENSE)", "](../LICENSE)")
        text = f"{readme}\n## Contents\n{text.partition('.')[2]}"
    elif docname == "api":
        text = linked_names(text)
    elif docname == "changes/README":
        text += changes()
    if not docname.startswith(("gallery/", "generated/")):
        content[0] = on_the_site(text)


def skip_what_scikit_learn_documents(app, what, name, obj, skip, options):
    """Leave out of a class what it has from scikit-learn."""
    module = getattr(obj, "__module__", None) or getattr(
        getattr(obj, "fget", None), "__module__", ""
    )
    return True if what == "class" and module.startswith("sklearn.") else None


def escape_fitted_names(app, what, name, obj, options, lines):
    """Keep names that end in an underscore, as in (n_features, n_components_), from being links."""
    in_doctest = False
    for i, line in enumerate(lines):
        in_doctest = bool(line.strip()) and (in_doctest or line.lstrip().startswith(">>>"))
        if not in_doctest:
            parts = re.split(r"(``.*?``|`.*?`|\*\*.*?\*\*)", line)
            parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\_", part) for part in parts[::2]]
            lines[i] = "".join(parts)


def setup(app):
    """Register the steps above."""
    app.connect("builder-inited", write_reference)
    app.connect("source-read", read_page)
    app.connect("autodoc-skip-member", skip_what_scikit_learn_documents)
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=900)  # after numpydoc
