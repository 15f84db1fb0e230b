#!/bin/sh
# Runs what pins google-adk's behaviour against several releases of it, each in a fresh environment of its own:
#   scripts/compat.sh [RELEASE ...]        without one: the oldest that pyproject allows, and the newest 2.x there is
# Everything else is installed as pyproject's ranges allow, so the newest of the rest is tried as well.
# COMPAT_TESTS=... takes other tests; RESULTS=FILE gets a line of JSON a release.
set -eu
cd "$(dirname "$0")/.."
oldest=$(sed -n 's/^ *"google-adk>=\([0-9.]*\),.*/\1/p' pyproject.toml)
[ $# -gt 0 ] || set -- "==$oldest" ">=$oldest,<3"
tests=${COMPAT_TESTS:-tests/contract/test_adk_facts.py tests/integration/adk}
python=${PYTHON:-.venv/bin/python}
uv=$(command -v .venv/bin/uv || command -v uv || true)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' HUP INT TERM

install() { # environment, requirement of google-adk
    "$python" -m venv --without-pip "$1"
    if [ -n "$uv" ]; then
        "$uv" pip install --quiet --python "$1/bin/python" "google-adk$2" ".[dev]"
    else
        "$python" -m pip --python "$1/bin/python" install -q --disable-pip-version-check "google-adk$2" ".[dev]"
    fi
}

failed=0
for wanted in "$@"; do
    case $wanted in [0-9]*) wanted="==$wanted" ;; esac
    here="$folder/env"
    rm -rf "$here"
    install "$here" "$wanted" || { echo "google-adk$wanted cannot be installed: is the package index reachable from here?" >&2; exit 1; }
    release=$("$here/bin/python" -c 'from importlib.metadata import version; print(version("google-adk"))')
    genai=$("$here/bin/python" -c 'from importlib.metadata import version; print(version("google-genai"))')
    echo "google-adk $release with google-genai $genai:"
    status=0
    # Other releases of ADK and of what they bring warn of other things: here a warning is none of ours.
    # The tests run on this folder, not on the installed copy.
    # shellcheck disable=SC2086
    PYTHONPATH=. "$here/bin/python" -m pytest -q -p no:cacheprovider -o filterwarnings=default -W ignore $tests >"$folder/out" 2>&1 || status=$?
    grep -E '^(FAILED|ERROR) ' "$folder/out" || true
    tail -1 "$folder/out"
    [ -z "${RESULTS:-}" ] || printf '{"google_adk": "%s", "google_genai": "%s", "status": %d, "summary": "%s"}\n' "$release" "$genai" "$status" "$(tail -1 "$folder/out" | tr -d '=')" >>"$RESULTS"
    [ "$status" = 0 ] || failed=1
done
exit "$failed"
