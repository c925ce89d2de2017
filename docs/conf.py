"""Sphinx configuration of the manual, for `make docs`. Neither building nor reading it fetches anything."""

import sys
from importlib.metadata import version as _version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

project = "airlane"
author = "the airlane contributors"
copyright = author  # noqa: A001 - Sphinx asks for it by this name
version = release = _version("airlane")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "render"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["images", "results"]
nb_execution_mode = "off"  # the tests run the notebooks, whose output is stored in them
suppress_warnings = ["misc.highlighting_failure"]  # a `console` block may contain any output

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Docstrings follow NumPy's conventions and put code between single backquotes.
default_role = "code"
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

# Prompts and the output of commands are not copied.
copybutton_prompt_text = "$ "

html_theme = "furo"
html_title = f"airlane {release}"
html_static_path = ["static"]
html_css_files = ["airlane.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}


def _captions(_app: Any, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    # Sphinx gives captions of the contents the role of a heading without a level, which WAI-ARIA requires.
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app: Any) -> None:
    """Register what the theme's pages need."""
    app.connect("html-page-context", _captions, priority=900)  # after the theme, which makes the tree
