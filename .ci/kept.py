"""Compiled crates from the last run that passed on this machine, for a fresh clone: `take` before it, `keep` behind it.

Cargo compiles anew what is changed later than it was compiled. In a clone all is new, so a file or folder with the
object name of git that it had in the run that passed gets the date that it had there: that of the clone in which this
content was first. Only a run that passed (`keep passed`) leaves names and dates behind: after one that failed all of
the workspace is compiled anew, and only crates of the registry are not.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

KEPT = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fringes-ci"
DATES = KEPT / "dates.json"
MOST_BYTES = 10_000_000_000


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, check=True, text=True).stdout


def objects():
    """Object names of the commit's files and folders, by path; none if the working tree differs from it."""
    if git("status", "--porcelain"):
        return {}
    entries = git("ls-tree", "-r", "-t", "-z", "--format=%(objectname) %(path)", "HEAD").split("\0")
    return {path: name for name, path in (entry.split(" ", 1) for entry in entries if entry)}


def has_path_compiled_in(path):
    """Whether a path of the clone is compiled into the file's crate, which cargo does not look at."""
    return path.endswith(".rs") and re.search(r'env!\("CARGO_(MANIFEST|BIN|TARGET)', Path(path).read_text())


def take():
    if not (KEPT / "debug").is_dir() or Path("target").exists():
        return
    now = objects()
    if not now:
        return
    Path("target").mkdir()
    shutil.move(KEPT / "debug", "target/debug")
    if not DATES.is_file():
        return
    for path, (name, date) in json.loads(DATES.read_text()).items():
        if now.get(path) == name and not has_path_compiled_in(path):
            os.utime(path, ns=(date, date))
    DATES.unlink()
    print("crates compiled by an earlier run are used where their sources are the same")


def keep(passed):
    if not Path("target/debug").is_dir():
        return
    shutil.rmtree(KEPT, ignore_errors=True)
    # Programs have two names; a file counts once.
    files = (file.stat() for file in Path("target/debug").rglob("*") if file.is_file())
    if sum({file.st_ino: file.st_size for file in files}.values()) > MOST_BYTES:
        return
    KEPT.mkdir(parents=True)
    # Programs under their own names: cargo puts those there again that are still made.
    for folder in (Path("target/debug"), Path("target/debug/examples")):
        for file in folder.glob("*"):
            if file.is_file() and not re.search(r"-[0-9a-f]{16}", file.name):
                file.unlink()
    if passed:
        dates = {path: (name, os.stat(path).st_mtime_ns) for path, name in objects().items()}
        DATES.write_text(json.dumps(dates))
    shutil.move("target/debug", KEPT / "debug")


if sys.argv[1] == "take":
    take()
else:
    keep(sys.argv[2:] == ["passed"])
