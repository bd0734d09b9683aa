"""The papers behind this library, measured again: their tables and figures beside ours.

    widestreet reproduce isvm         the tables and figures of a paper; --quick: five minutes
    widestreet reproduce --list       which papers there are, and what each would run

One module per paper: which problems, which methods (`method.py`), which tables and figures; and
one file of words beside it, with places for numbers that are computed. A measurement is one fit
(`measurement.py`). Fits of the same data share a process (`measure.py`), each with a time limit;
the runner stores every record at once (`runner.py`), so that an interrupted run goes on where it
was, and the page is made of what is stored (`page.py`, `report.py`).

What the papers printed stands in the papers' modules with the place it is from. What we print is
always computed from records.
"""
