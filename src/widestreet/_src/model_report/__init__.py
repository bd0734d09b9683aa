"""A page about a fitted model: HTML and SVG in one file.

`report.py` has what users see. `subject.py` finds the SVM inside pipelines, searches and wrappers,
`sample.py` evaluates it on rows, `held_out.py` on rows that it was not trained on. Each other
module makes a section of the page, from numbers, `markup.py` and `drawing.py`.
"""
