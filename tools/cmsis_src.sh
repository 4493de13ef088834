#!/bin/sh
# cmsis_src.sh   the C sources of CMSIS-DSP, from the source distribution of PyPI, as build/src/cmsisdsp
#
# Only for `make CMSIS_DSP_DIR=pypi`. Needs the network once, and on Debian python3-venv for pip. The version and the
# hash of the file are pinned: pip refuses another one.
set -eu
cd "$(dirname "$0")/.."
VERSION=1.10.3
HASH=307d32298faa7c58db912851027fce35f886fec7eb1a27c4b309ce1a97f47519
[ -e build/src/cmsisdsp ] && exit 0
venv=build/venv-pip
if [ ! -x "$venv/bin/pip" ]; then
    "${PYTHON:-/usr/bin/python3}" -m venv "$venv" || { echo "No venv: apt-get install python3-venv" >&2; exit 1; }
fi
mkdir -p build/src
echo "cmsisdsp==$VERSION --hash=sha256:$HASH" >build/src/cmsisdsp.txt
echo "Fetching the sources of CMSIS-DSP $VERSION (PyPI)"
"$venv/bin/pip" -q download --no-deps --no-binary cmsisdsp --require-hashes -d build/src -r build/src/cmsisdsp.txt ||
    { echo "Could not fetch cmsisdsp $VERSION; with sources at hand: make CMSIS_DSP_DIR=<folder>" >&2; exit 1; }
tar -xzf "build/src/cmsisdsp-$VERSION.tar.gz" -C build/src
ln -sfn "cmsisdsp-$VERSION" build/src/cmsisdsp
