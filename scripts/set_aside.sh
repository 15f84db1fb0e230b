#!/bin/sh
# Moves an existing folder to the first free numbered name beside it: the new run gets the plain name, nothing is lost.
set -eu
[ -e "$1" ] || [ -L "$1" ] || exit 0
number=1
while [ -e "$1-$number" ] || [ -L "$1-$number" ]; do number=$((number + 1)); done
mv -- "$1" "$1-$number"
echo "$1 was there already: kept as $1-$number."
