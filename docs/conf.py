"""Settings of the documentation site: `make docs` builds it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import widestreet

HOME = "https://github.com/widestreet/widestreet"

project = "widestreet"
author = "The widestreet developers"
copyright = author
version = release = widestreet.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_templates"]
templates_path = ["_templates"]
root_doc = "index"

nitpicky = True
default_role = "literal"
smartquotes = False
nitpick_ignore_regex = [(r"py:.*", r"(sklearn|numpy|pandas|matplotlib)\..*")]

# -- pages -------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# -- API ---------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
autodoc_default_options = {"member-order": "groupwise"}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"

# -- gallery -----------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "matplotlib_animations": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "plot_gallery": "True",
    "min_reported_time": 10,
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": ["2x"],
    "reference_url": {"widestreet": None},
    "backreferences_dir": None,
}

# -- look --------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "widestreet"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "text": "widestreet",
        "alt_text": "widestreet",
    },
    "github_url": HOME,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- links -------------------------------------------------------------------------------------

linkcheck_anchors = False
linkcheck_ignore = [re.escape(HOME)]
linkcheck_timeout = 20
linkcheck_workers = 4

HERE = Path(__file__).parent
# Pages that are files of the repository.
FILES = {"changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md", "security": "SECURITY.md"}
# Links that work in the repository, and the pages of the site that they lead to.
LINKS = {
    r"(?:\.\./)?examples/(\w+)\.py": r"gallery/\1.rst",
    r"(?:\.\./)?(CHANGELOG|CONTRIBUTING|SECURITY)\.md": lambda found: found[1].lower() + ".md",
    r"docs/([\w/-]+\.md)": r"\1",
}


def _prepare_page(app: Any, name: str, source: list[str]) -> None:
    """Insert files of the repository, and let links lead to pages."""
    text = source[0]
    if name in FILES:
        text = (HERE.parent / FILES[name]).read_text(encoding="utf-8")
    for link, page in LINKS.items():
        text = re.sub(rf"(?<=\]\(){link}(?=[)#])", page, text)
    text = re.sub(r"\[(?:docs/)?([\w/-]+\.md)\]\(\1\)", r"[](\1)", text)  # show the title
    source[0] = re.sub(r"\n+```$", "\n```", text, flags=re.MULTILINE)  # doctest needs these lines


# What is left alone in a docstring (examples, code), and what Sphinx would read in another way:
# |x| and names that end with an underscore.
KEPT = r"(?P<kept>^\s*>>>.*?(?:\n\s*\n|\Z)|``.*?``|:[\w:]+:`[^`]*`|`[^`]*`)"
PLAIN = re.compile(rf"{KEPT}|(?P<bar>\|)|(?<![\\\w])(?P<name>\w+)_(?!\w)", re.DOTALL | re.MULTILINE)


def _escaped(found: re.Match[str]) -> str:
    """Return a match of PLAIN as Sphinx has to read it."""
    return found["kept"] or (r"\|" if found["bar"] else rf"{found['name']}\_")


def _prepare_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: Any) -> None:
    """Escape our docstrings; turn references of inherited ones to pages elsewhere into text."""
    origin = obj.fget if isinstance(obj, property) else obj
    home = getattr(inspect.unwrap(origin), "__module__", None) if callable(origin) else None
    text = "\n".join(lines)
    if home is None or home.startswith("widestreet"):
        text = PLAIN.sub(_escaped, text)
    else:
        text = re.sub(r":\w+:`~?([^`<]+?)(?:\s*<[^`]*>)?`", r"``\1``", text)
        text = re.sub(r"\.\. versionadded::.*", "", text)
    lines[:] = text.split("\n")


def _signature(app: Any, what: str, name: str, obj: Any, *rest: Any) -> tuple[str, None] | None:
    """Return the parameters of a class whose `__new__` takes any."""
    if what != "class":
        return None
    parameters = inspect.signature(obj).parameters.values()
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return str(inspect.Signature(plain)), None


def _skip_member(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out properties that only explain why a method of scikit-learn is missing."""
    missing = name in ("predict_proba", "predict_log_proba") and isinstance(obj, property)
    return True if missing else None


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-skip-member", _skip_member)
    app.connect("source-read", _prepare_page)
    app.connect("autodoc-process-docstring", _prepare_docstring, priority=900)  # after numpydoc
