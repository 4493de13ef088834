#!/bin/sh
# check_format.sh [--fix]   C sources against .clang-format
set -eu
cd "$(dirname "$0")/.."
files=$(git ls-files -co --exclude-standard '*.c' '*.h' | while read -r f; do [ -f "$f" ] && echo "$f"; done)
if [ "${1:-}" = --fix ]; then
    # shellcheck disable=SC2086
    clang-format -i $files
    exit 0
fi
bad=0
for f in $files; do
    clang-format "$f" | cmp -s "$f" - || { echo "$f: not formatted; run tools/check_format.sh --fix"; bad=$((bad + 1)); }
done
echo "format: $(echo "$files" | wc -w) files, $bad to fix"
[ "$bad" = 0 ]
