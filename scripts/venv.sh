#!/bin/sh
# Makes .venv and installs this project with what is locked: `scripts/venv.sh base` or `scripts/venv.sh dev`.
# Does nothing when that has been done already for the same lock in the same place.
# Takes uv where it can be had and pip where not; both check the hashes, both compile bytecode
# (ADK retries an import on every turn; without bytecode that costs more than the turn itself).
set -eu
cd "$(dirname "$0")/.."
level=$1
lock=requirements/$level.lock

say() { printf '%s\n' "$*" >&2; }
stop() { say "$*"; exit 1; }
new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        command -v "$PYTHON" >/dev/null 2>&1 || stop "There is no Python at '$PYTHON': set PYTHON to Python 3.11 or newer."
        new_enough "$PYTHON" || stop "'$PYTHON' is older than Python 3.11: set PYTHON to a newer one."
        echo "$PYTHON"
        return
    fi
    for name in python3 python3.13 python3.12 python3.11; do
        if new_enough "$name"; then echo "$name"; return; fi
    done
    stop "Python 3.11 or newer is needed and none was found: install it (Debian: apt-get install python3 python3-venv) or name it, as in: make demo PYTHON=python3.12"
}

find_uv() {
    if [ -x .venv/bin/uv ]; then echo .venv/bin/uv; else command -v uv || true; fi
}

can_install() { [ -n "$(find_uv)" ] || .venv/bin/python -m pip --version >/dev/null 2>&1; }

# Three ways, the quickest first: a uv that is there; the pip that is there, which brings uv into a bare
# environment; an environment with a pip of its own, which then brings uv or, failing that, does the work.
make_venv() {
    uv=$(find_uv)
    if [ -n "$uv" ] && "$uv" venv --quiet --python "$(command -v "$1")" .venv; then return; fi
    if "$1" -m venv --without-pip .venv >/dev/null 2>&1 &&
        "$1" -m pip --python .venv/bin/python install -qq --disable-pip-version-check uv >/dev/null 2>&1; then return; fi
    rm -rf .venv
    if ! "$1" -m venv .venv >/dev/null 2>&1; then
        rm -rf .venv
        stop "Python's venv module is missing: install it (Debian: apt-get install python3-venv) and run make again."
    fi
    .venv/bin/python -m pip install -qq --disable-pip-version-check uv ||
        say "uv could not be had; pip does the same, slower."
}

# The place counts too: scripts and the editable install name it, so a moved checkout starts afresh.
want=$( (printf '%s\n' "$level" "$(pwd)"; cat "$lock" pyproject.toml) | cksum)
stamp=.venv/installed-$level
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && new_enough .venv/bin/python; then exit 0; fi

home=$( (pwd) | cksum)
if [ -f .venv/home ] && { [ "$(cat .venv/home)" != "$home" ] || ! new_enough .venv/bin/python; }; then
    rm -rf .venv # made here by an earlier run, and of no use any more
fi
if [ -e .venv ] && ! { new_enough .venv/bin/python && can_install; }; then
    stop "The .venv here is not one that make made, and has no Python 3.11 or newer with pip: move it away and run make again."
fi
if [ ! -e .venv ]; then
    python=$(find_python)
    trap 'rm -rf .venv' EXIT # half an environment is worse than none
    trap 'exit 130' HUP INT TERM
    make_venv "$python"
    printf '%s\n' "$home" >.venv/home
    trap - EXIT HUP INT TERM
fi

uv=$(find_uv)
say "Installing what $lock names into .venv ..."
if [ -n "$uv" ]; then
    "$uv" pip install --quiet --python .venv/bin/python --compile-bytecode --require-hashes -r "$lock" &&
        "$uv" pip install --quiet --python .venv/bin/python --no-deps --editable .
else
    .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r "$lock" &&
        .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --editable .
fi || stop "Installing failed (see above): is the package index reachable from here?"
printf '%s\n' "$want" >"$stamp"
