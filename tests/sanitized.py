"""Run tests with a core built for AddressSanitizer: python tests/sanitized.py BUILD TESTS.

CPython is not built with it, so its runtime is loaded beforehand. Leaks are not looked for: an
interpreter leaves objects behind when it ends.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

BUILD = "WIDESTREET_SANITIZED"


def replace_core() -> None:
    """Put the instrumented core in place of the installed one."""
    [path] = Path(os.environ[BUILD]).glob("_core*.so")
    spec = importlib.util.spec_from_file_location("widestreet._core", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["widestreet._core"] = module
    spec.loader.exec_module(module)


def main(build: str, *tests: str) -> int:
    compiler = os.environ.get("CXX", "c++")
    runtimes = [
        subprocess.check_output([compiler, f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libstdc++.so")
    ]
    environment = os.environ | {
        BUILD: build,
        "LD_PRELOAD": " ".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONPATH": "tests",
    }
    # alone, and without the suite's own plugins: one process that a report ends
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "--capture=sys",
        "-p",
        "sanitized",
        "-p",
        "no:xdist",
    ]
    return subprocess.run([*command, *tests], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
elif BUILD in os.environ:  # as a plugin of pytest, before anything imports the package
    replace_core()
