#!/bin/sh
# setup.sh build|run|test|target|bench   install what is missing for that, and say what
#
# Repeatable: looks first, installs only what is not there. Debian packages by apt-get (as root or
# by sudo), runtime sources from Debian source packages into build/src. Nothing else is touched.
set -eu
cd "$(dirname "$0")/.."

TARGET_TOOLS="gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
BUILD="gcc libc6-dev make dpkg-dev xz-utils nanopb protobuf-compiler python3 python3-protobuf libmbedtls-dev libjansson-dev libedit-dev"
RUN="$BUILD alsa-utils python3-numpy graphviz"
TEST="$RUN $TARGET_TOOLS python3-scipy python3-pytest libcmocka-dev clang libclang-rt-14-dev clang-format cppcheck zsh"
BENCH="$BUILD liblua5.4-dev python3-gi gir1.2-gstreamer-1.0 gstreamer1.0-plugins-base gstreamer1.0-plugins-good"
SOURCES="nanopb kissfft speexdsp"
# A mirror that does not answer is told of within a minute, not after apt's own patience.
NET="-o Acquire::Retries=1 -o Acquire::http::Timeout=15 -o Acquire::https::Timeout=15"
LOG=build/setup.log

case "${1:-build}" in
build) want=$BUILD ;;
run) want=$RUN ;;
test) want=$TEST ;;
target) want="$BUILD $TARGET_TOOLS" ;;
bench) want=$BENCH ;;
*) echo "usage: tools/setup.sh build|run|test|target|bench" >&2; exit 2 ;;
esac

stop() {
    printf '%s\n' "$@" >&2
    exit 1
}

# The reasons apt gave, each once, without the list of files.
reasons() {
    grep -hE '^(E:|W: Failed|sudo:|dpkg:)|Temporary failure|Could not (resolve|connect)' "$@" 2>/dev/null |
        sed -E 's/^[EW]: //; s/^Failed to fetch [^ ]+ +//; s/^[[:space:]]+//; /^Some index files/d' |
        sort -u | head -n 4 | sed 's/^/  /' >&2
}

as_root_by_hand() {
    echo "As root, once:"
    echo "  apt-get update && apt-get install --no-install-recommends$missing"
}

no_mirror() {
    reasons "$@"
    stop "The Debian package mirror in /etc/apt/sources.list* cannot be reached (log: $1)." \
        "Check the network (DNS, proxy), then run the same command again."
}

install_packages() {
    sudo=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || stop "Tunewire needs these Debian packages:$missing" \
            "You are neither root nor is there sudo. $(as_root_by_hand)" "then run the same command again."
        sudo=sudo
        sudo apt-get -v >/dev/null || stop "sudo did not let you in. $(as_root_by_hand)" "then run the same command again."
    fi
    echo "Installing Debian packages (log: $LOG):$missing"
    mkdir -p build
    # Some lists may be unreachable as long as one is there; what is missing then, install says.
    $sudo apt-get -q $NET -o APT::Update::Error-Mode=any update >$LOG 2>&1 ||
        grep -qE '^(Hit|Get):' $LOG || no_mirror $LOG
    # An earlier run may have been interrupted between unpacking and setting up.
    $sudo dpkg --configure -a >>$LOG 2>&1 || true
    # shellcheck disable=SC2086
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y $NET install --no-install-recommends $missing >>$LOG 2>&1 || {
        grep -qE 'Temporary failure|Could not (resolve|connect)' $LOG && no_mirror $LOG
        reasons $LOG
        stop "Could not install:$missing" "Log: $LOG. $(as_root_by_hand)"
    }
}

missing=
for p in $want; do
    dpkg-query -W -f='${db:Status-Abbrev}' "$p" 2>/dev/null | grep -q '^ii' || missing="$missing $p"
done
[ -z "$missing" ] || install_packages

missing=
for p in $SOURCES; do
    [ -e "build/src/$p" ] || missing="$missing $p"
done
if [ -n "$missing" ]; then
    echo "Fetching Debian source packages:$missing"
    # shellcheck disable=SC2086
    tools/apt_src.sh $missing || exit 1
fi
