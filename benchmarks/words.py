"""What the report says whatever the numbers are."""

METHOD = """\
Each cell is how many times as long as widestreet a library took to train. What counts is not the
tolerance that a library was asked for but what it reached: its dual coefficients are examined by
the certificate of widestreet, which knows nothing of who found them and recomputes scores,
objectives and the violation of the optimality conditions (KKT) in float64 over every row. Every
library is run at several tolerances, and **its fastest run with a certified violation of at most
{target}** (to two digits) and constraints broken by no more than {feasible} of the boxes is
compared; the same for widestreet. If the planned tolerances do not lead there, smaller ones are
tried. "never" says how close a library came; "no answer in N s" that its fit was killed after N
seconds, and "more than" what that would be as a ratio."""

COLUMNS = """\
Each run is a process of its own, one at a time, with its number of threads pinned, after a small
fit on other rows. *time*: wall clock of the fit, the median of up to three if they are short.
*peak*: memory during the first fit beyond what was held before it. *SVs*: rows with a coefficient
that is not zero. *violation*, *relative gap* (primal less dual objective, divided by the larger),
*dual objective*: of the solution, by the certificate; of several classes the worst pair and the
sums. *test score*: accuracy, or the coefficient of determination for regression, on at most
{test_rows} rows that were not trained on. *prediction*: seconds for these. `results.csv` beside the
plots has all of it."""

CAVEATS = """\
- All libraries get the same rows: float64 in C order, or CSR. Where a library takes no CSR it gets
  them dense, which is not timed; neither is LIBSVM's conversion to its own format. What else a
  library converts or checks in its `fit` is timed, the certificate that widestreet computes at the
  end of each fit included.
- Caches of kernel rows may take {cache} MB where a library has one; widestreet may use {cache} MB
  in all.
- Parameters of the problems are the same for everybody and were not tuned; no library gets settings
  for one data set.
- Libraries that compute in float32 may stop improving before the violation of the comparison; that
  is then what the table says.
- Threads that wait by spinning (OpenMP's in LIBSVM and ThunderSVM) suffer more than others when
  something else runs: race on a quiet machine; `--disturbed` repeats the runs during which it was
  not.
- One machine, one run: look at ratios, and at the second digit with suspicion."""

REPEAT = """\
    pip install "widestreet[race]"
    widestreet race --quick          # five minutes
    WIDESTREET_DATA=/path/to/data widestreet race    # everything, hours

In a checkout `make race` is the last of these and writes this page. Real data are files with the
names that their publishers gave them, anywhere in the folder WIDESTREET_DATA or in folders of it,
packed or not; `widestreet race --list` says what is missing, and `--download` fetches what
scikit-learn can fetch. An interrupted race goes on where it was. A library or a data set is added
by one file in `benchmarks/solvers` or `benchmarks/data`."""
