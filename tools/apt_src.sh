#!/bin/sh
# apt_src.sh PACKAGE...   unpack Debian source packages as build/src/PACKAGE
#
# Names no host: every binary entry this machine already trusts is repeated as a deb-src entry in
# a private directory, so /etc/apt is neither edited nor needed to be writable, and no right is needed.
set -eu
cd "$(dirname "$0")/.."
A=$PWD/build/apt
rm -rf "$A"
mkdir -p "$A/lists/partial" "$A/parts" build/src
for f in /etc/apt/sources.list.d/*.sources; do
    [ -f "$f" ] && sed -E 's/^[Tt]ypes:.*/Types: deb-src/' "$f" > "$A/parts/$(basename "$f")"
done
for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$f" ] && sed -nE 's/^[[:space:]]*deb([[:space:]].*)/deb-src\1/p' "$f" > "$A/parts/$(basename "$f")"
done
# A file and no -o options: the path may have blanks.
cat > "$A/apt.conf" <<CONF
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$A/parts";
Dir::State::lists "$A/lists";
Dir::Cache::srcpkgcache "";
Dir::Cache::pkgcache "";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
Acquire::Retries "1";
Acquire::http::Timeout "15";
Acquire::https::Timeout "15";
CONF
export APT_CONFIG="$A/apt.conf"

fail() {
    grep -hE '^[EW]:' "$2" | grep -v 'Some index files' | sort -u | head -n 4 | sed -E 's/^[EW]: /  /' >&2
    echo "$1 (log: ${2#"$PWD/"})." >&2
    echo "Check the network (DNS, proxy), then run the same command again." >&2
    exit 1
}

apt-get -q update >"$A/update.log" 2>&1 || grep -qE '^(Hit|Get):' "$A/update.log" ||
    fail "The Debian package mirror in /etc/apt/sources.list* cannot be reached" "$A/update.log"
(cd build/src && apt-get -q source --download-only "$@") >"$A/source.log" 2>&1 ||
    fail "Could not fetch the source packages $*" "$A/source.log"

cd build/src
for p in "$@"; do
    dsc=$(ls -v "$p"_*.dsc | tail -n 1)
    version=$(sed -n 's/^Version: //p' "$dsc" | head -n 1)
    dir=$p-$(echo "$version" | sed -E 's/^[0-9]+://; s/-[^-]*$//')
    # Complete or not there: an interrupted run leaves only the .part, which the next one throws away.
    rm -rf "$dir" "$dir.part"
    dpkg-source --no-check -x "$dsc" "$dir.part" >"$A/unpack.log" 2>&1 || { cat "$A/unpack.log" >&2; exit 1; }
    mv "$dir.part" "$dir"
    ln -sfn "$dir" "$p"
    echo "  source build/src/$p ($p $version)"
done
