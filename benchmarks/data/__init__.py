"""One file per data set. Each defines TASKS, a list of `benchmarks.task.Task`."""
