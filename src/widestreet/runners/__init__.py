"""Where independent pieces of work run."""

from widestreet.runners.local import LocalRunner, Runner

__all__ = ["LocalRunner", "Runner"]
