#!/bin/sh
# check_static.sh   cppcheck over the product's C; every finding is an error unless suppressed with a reason here
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/cppcheck
cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
    --cppcheck-build-dir=build/cppcheck -j2 -I. -Ibuild/gen \
    --suppress=missingInclude --suppress=missingIncludeSystem --suppress=unmatchedSuppression \
    --suppress='*:build/*' -D__x86_64__ \
    engine protocol phy server host_tools
echo "static: cppcheck clean"
