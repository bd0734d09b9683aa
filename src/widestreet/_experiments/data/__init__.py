"""One file per data set. Each defines TASKS, a list of `Task` (`harness/task.py`)."""
