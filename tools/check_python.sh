#!/bin/sh
# check_python.sh   the Python package with the newest protobuf of PyPI, in both its implementations, and as a wheel
#
# `make test` runs the same tests with Debian's protobuf. This one needs the network and, on Debian, python3-venv.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-/usr/bin/python3}
venv=build/venv
if [ ! -x "$venv/bin/pip" ]; then
    "$python" -m venv "$venv" || { echo "No venv: apt-get install python3-venv, or PYTHON=<another python3>" >&2; exit 1; }
fi
"$venv/bin/pip" -q install --upgrade protobuf pytest setuptools wheel google-crc32c mypy
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r host_tools/python/. "$copy"
rm -rf build/wheel
"$venv/bin/pip" -q wheel --no-deps -w build/wheel "$copy"
"$venv/bin/pip" -q install --force-reinstall --no-deps build/wheel/tunewire-*.whl
"$venv/bin/mypy" --disallow-untyped-defs --ignore-missing-imports host_tools/python/tunewire
for implementation in upb python; do
    echo "protobuf $("$venv/bin/python" -c 'import google.protobuf as p; print(p.__version__)'), $implementation"
    PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=$implementation TUNEWIRE_INSTALLED=1 \
        "$venv/bin/python" -m pytest -q -p no:cacheprovider tests/python
done
