#!/bin/sh
# setup.sh build|run|test   install what is missing for that, and say what
#
# Repeatable: looks first, installs only what is not there. Debian packages by apt-get (as root or
# by sudo), runtime sources from Debian source packages into build/src. Nothing else is touched.
set -eu
cd "$(dirname "$0")/.."

BUILD="gcc libc6-dev make dpkg-dev xz-utils nanopb protobuf-compiler python3 python3-protobuf libmbedtls-dev libjansson-dev"
RUN="$BUILD alsa-utils python3-numpy"
TEST="$RUN python3-pytest libcmocka-dev clang libclang-rt-14-dev clang-format cppcheck"
case "${1:-build}" in
build) want=$BUILD ;;
run) want=$RUN ;;
test) want=$TEST ;;
*) echo "usage: tools/setup.sh build|run|test" >&2; exit 2 ;;
esac

missing=
for p in $want; do
    dpkg-query -W -f='${db:Status-Abbrev}' "$p" 2>/dev/null | grep -q '^ii' || missing="$missing $p"
done
if [ -n "$missing" ]; then
    sudo=
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "Tunewire needs these Debian packages:$missing" >&2
            echo "Neither root nor sudo here. As root run:  apt-get install --no-install-recommends$missing" >&2
            exit 1
        fi
        sudo=sudo
    fi
    echo "Installing Debian packages:$missing"
    mkdir -p build
    if ! { $sudo apt-get -q update && $sudo env DEBIAN_FRONTEND=noninteractive \
            apt-get -q -y install --no-install-recommends $missing; } >build/setup.log 2>&1; then
        tail -n 15 build/setup.log >&2
        echo "Could not install:$missing" >&2
        echo "Is the package mirror reachable? Full log: build/setup.log. Run the same command again when it is." >&2
        exit 1
    fi
fi

sources=
for p in nanopb; do
    [ -e "build/src/$p" ] || sources="$sources $p"
done
if [ -n "$sources" ]; then
    echo "Fetching Debian source packages:$sources"
    # shellcheck disable=SC2086
    if ! tools/apt_src.sh $sources; then
        echo "Could not fetch:$sources. Is the package mirror reachable? Run the same command again when it is." >&2
        exit 1
    fi
fi
