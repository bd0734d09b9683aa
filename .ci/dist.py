"""Build the source distribution and the wheels into dist/, and check them.

    python .ci/dist.py INTERPRETER ...

1) Build the sdist in an isolated environment.
2) From the sdist, build a wheel for each ABI among the interpreters: cp311, and abi3 from 3.12 on.
3) Check metadata (twine) and the stable ABI (abi3audit).
4) Install the wheels into a new environment of each interpreter, without a compiler on PATH, and
   run smoke.py there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
VERSION = "import sys; print(*sys.version_info[:3], sep='.')"


def run(*command: str | Path, **options: object) -> str:
    """Run a command to its end, and return what it prints; end with its output if it fails."""
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,  # type: ignore[call-overload]
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed: {' '.join(map(str, command))}")
    return str(done.stdout)


def by_version(interpreters: list[str]) -> dict[tuple[int, ...], str]:
    """Return the interpreters that run and are 3.11 or later, one for each minor version."""
    found: dict[tuple[int, ...], str] = {}
    for name in interpreters:
        try:
            text = subprocess.run([name, "-c", VERSION], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        version = tuple(map(int, text.stdout.split(".")[:2]))
        if version >= (3, 11):
            found.setdefault(version, name)
    return dict(sorted(found.items()))


def environment(interpreter: str, folder: Path) -> Path:
    """Make a new virtual environment, and return its interpreter."""
    run(interpreter, "-m", "venv", folder)
    return folder / "bin" / "python"


def wheel_for(version: tuple[int, ...]) -> Path | None:
    """Return the wheel in dist/ that this version of Python installs."""
    pattern = "*-cp311-cp311-*.whl" if version == (3, 11) else "*-cp312-abi3-*.whl"
    return next(DIST.glob(pattern), None)


def main(interpreters: list[str]) -> None:
    """Build and check everything."""
    chosen = by_version(interpreters)
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        # 1) the sdist
        run(sys.executable, "-m", "build", "--sdist", ROOT)
        (sdist,) = DIST.glob("*.tar.gz")
        print(sdist.name)
        # 2) the wheels
        for version, name in chosen.items():
            if wheel_for(version) is None:
                python = environment(name, folder / "build" / str(version[1]))
                run(python, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", DIST, sdist)
                print(getattr(wheel_for(version), "name", "no wheel"), flush=True)
        # 3) metadata and ABI
        run(sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir())
        for wheel in DIST.glob("*-abi3-*.whl"):
            print(run(sys.executable, "-m", "abi3audit", "--strict", "--summary", wheel).strip())
        # 4) bare environments
        for version, name in chosen.items():
            wheel = wheel_for(version)
            if wheel is None:
                sys.exit(f"no wheel for Python {version} among {sorted(DIST.iterdir())}")
            python = environment(name, folder / "bare" / str(version[1]))
            bare = os.environ | {"PATH": str(python.parent)}
            run(python, "-m", "pip", "install", "--only-binary=:all:", wheel, env=bare)
            said = run(python, ROOT / ".ci" / "smoke.py", env=bare, cwd=folder)
            print(f"Python {run(python, '-c', VERSION).strip()}: {said.strip()}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
