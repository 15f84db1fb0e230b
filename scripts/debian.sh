#!/bin/sh
# Installs the Debian packages that tests need, where that can be done: as root, with apt-get.
# Elsewhere it says what is missing and goes on; the tests concerned then say so themselves.
set -eu
cd "$(dirname "$0")/.."

missing=
while read -r name _; do
    case $name in '' | '#'*) continue ;; esac
    dpkg -s "$name" >/dev/null 2>&1 || missing="$missing $name"
done <requirements/debian.txt
[ -n "$missing" ] || exit 0

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    echo "Installing Debian packages:$missing"
    # A name is a word: splitting the list is what is wanted.
    # shellcheck disable=SC2086
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >/dev/null
else
    echo "Not installed (that takes root and apt-get):$missing" >&2
fi
