#!/bin/sh
# apt_src.sh PACKAGE...   unpack Debian source packages as build/src/PACKAGE
#
# Names no host: every binary entry this machine already trusts is repeated as a deb-src entry in
# a private directory, so /etc/apt is neither edited nor needed to be writable.
set -eu
cd "$(dirname "$0")/.."
A=$PWD/build/apt
mkdir -p "$A/lists/partial" "$A/parts" build/src
for f in /etc/apt/sources.list.d/*.sources; do
    [ -f "$f" ] && sed -E 's/^[Tt]ypes:.*/Types: deb-src/' "$f" > "$A/parts/$(basename "$f")"
done
for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$f" ] && sed -nE 's/^[[:space:]]*deb([[:space:]].*)/deb-src\1/p' "$f" > "$A/parts/$(basename "$f")"
done
set -- "$@"
O="-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$A/parts
   -o Dir::State::lists=$A/lists -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache=
   -o APT::Sandbox::User=root"
# shellcheck disable=SC2086   # O is a list of words
apt-get -q $O update >"$A/update.log" 2>&1 || { cat "$A/update.log" >&2; exit 1; }
cd build/src
# shellcheck disable=SC2086
apt-get -q $O source --download-only "$@" >"$A/source.log" 2>&1 || { cat "$A/source.log" >&2; exit 1; }
for p in "$@"; do
    dsc=$(ls -v "$p"_*.dsc | tail -n 1)
    version=$(sed -n 's/^Version: //p' "$dsc" | head -n 1)
    dir=$p-$(echo "$version" | sed -E 's/^[0-9]+://; s/-[^-]*$//')
    [ -d "$dir" ] || dpkg-source --no-check -x "$dsc" "$dir" >/dev/null 2>&1
    ln -sfn "$dir" "$p"
    echo "  source build/src/$p ($p $version)"
done
