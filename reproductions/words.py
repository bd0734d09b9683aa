"""What every report says."""

OPENING = """\
This page is written by `widestreet reproduce {name}`. Every number of ours is computed from the
records of one run; the paper's numbers are those of its text, and where the text that we have does
not give one, the table says so."""

QUICK = """\
**A quick run**: fewer rows and fewer repetitions than the paper's, and nothing new begun after
{seconds:.0f} seconds. It shows that everything works and how the tables look, and no more; the
full run is `widestreet reproduce {name}`."""

COLUMNS = """\
*time*: wall clock of `fit` in seconds, for widestreet with the certificate; "> N": not done after N
seconds, for LIBSVM killed, for widestreet stopped with the model it had. *SVs*: rows with a
coefficient that is not zero. Where there are several runs (seeds 0, 1, ...), mean ± standard
deviation. *certificate*: what widestreet says of its model: "optimal" is proved, "approximate" was
asked for, "time_limit" ran out of time. *violation*: of the optimality conditions (KKT); *relative
gap*: primal less dual objective divided by the larger; both recomputed in float64 over every
training row, also for LIBSVM and for models of a sample, and the worst of the runs. Everybody was
asked for a violation of {tol:g}."""

REPEAT = """\
    pip install "widestreet[plot]"
    WIDESTREET_DATA=/path/to/data widestreet reproduce {name}           # this page
    widestreet reproduce {name} --quick                                 # five minutes

Real data are files with the names that their publishers gave them, anywhere in the folder
WIDESTREET_DATA or in folders of it, packed or not; `--list` says what is missing, and `--download`
fetches what scikit-learn can fetch. An interrupted run goes on where it was."""

NO_WORDS = """\
A quick run is too small to compare with the paper; the page of the full run does."""

UNFINISHED = """\
Not everything was measured, so there is no comparison with the paper: {what} is missing."""
