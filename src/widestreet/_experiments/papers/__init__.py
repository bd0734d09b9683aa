"""Papers behind this library: their tables and figures measured again.

One module per paper says which problems, which methods, which tables and figures; a Markdown file
of the same name is the comparison with the paper, with places for values that are computed. What a
paper printed is a constant with the place it is from; our numbers always come from records.
"""
