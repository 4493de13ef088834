"""Set-up on machines that lack something: tools/setup.sh with stand-ins for apt, dpkg and sudo on its PATH.

The stand-ins note what they were asked; no package is touched and no network is used.
"""
import os
import shutil
import subprocess

import pytest
from conftest import ROOT

NO_DNS = "Err:1 http://mirror bookworm InRelease\n  Temporary failure resolving 'mirror'\n" \
         "W: Failed to fetch http://mirror/InRelease  Temporary failure resolving 'mirror'\n"


class Machine:
    """A clone in a folder with a blank in its name, and a PATH of stand-ins before the real tools."""

    def __init__(self, folder):
        self.clone, self.bin, self.asked = folder / "my clone", folder / "bin", folder / "asked"
        (self.clone / "tools").mkdir(parents=True)
        self.bin.mkdir()
        for name in ("setup.sh", "apt_src.sh"):
            shutil.copy(os.path.join(ROOT, "tools", name), self.clone / "tools" / name)
        for name in ("sh", "sed", "grep", "sort", "head", "tail", "cat", "mkdir", "rm", "mv", "ln", "ls", "dirname",
                     "basename", "env"):
            os.symlink(shutil.which(name), self.bin / name)
        self.tool("id", "echo 0")
        self.tool("dpkg", "")
        self.tool("dpkg-query", "echo 'ii '")
        self.tool("apt-get", 'case "$*" in *source*) printf "Version: 1:1.2-3\\n" >nanopb_1.2-3.dsc ;; esac')
        self.tool("dpkg-source", 'mkdir -p "$4"; echo done >"$4/pb.h"')

    def tool(self, name, body):
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.asked}"\n{body}\n')
        path.chmod(0o755)

    def setup(self, what="run"):
        run = subprocess.run(["sh", str(self.clone / "tools" / "setup.sh"), what], capture_output=True, text=True,
                             timeout=20, env={"PATH": str(self.bin), "HOME": "/dev/null/home", "LC_ALL": "C"})
        return run.returncode, run.stdout, run.stderr

    def calls(self, name):
        lines = self.asked.read_text().splitlines() if self.asked.exists() else []
        return [line for line in lines if line.startswith(name + " ")]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_what_is_there_is_not_installed_again(machine):
    assert machine.setup()[0] == 0
    assert (machine.clone / "build" / "src" / "nanopb" / "pb.h").read_text() == "done\n"
    asked = len(machine.calls("apt-get"))
    code, out, err = machine.setup()
    assert (code, out, err) == (0, "", "")
    assert len(machine.calls("apt-get")) == asked
    assert not any("install" in call for call in machine.calls("apt-get"))


def test_missing_packages_are_named_and_installed(machine):
    machine.tool("dpkg-query", 'case "$*" in *nanopb) exit 1 ;; *) echo "ii " ;; esac')
    code, out, _ = machine.setup()
    assert code == 0 and "Installing Debian packages" in out and out.splitlines()[0].endswith(": nanopb")
    assert any("install --no-install-recommends nanopb" in call for call in machine.calls("apt-get"))


def test_without_root_and_sudo_the_command_to_give_is_printed(machine):
    machine.tool("id", "echo 1000")
    machine.tool("dpkg-query", "exit 1")
    code, _, err = machine.setup()
    assert code == 1 and "neither root nor is there sudo" in err
    assert "apt-get update && apt-get install --no-install-recommends gcc " in err
    assert not machine.calls("apt-get")


def test_a_user_sudo_does_not_know_gets_the_same_command(machine):
    machine.tool("id", "echo 1000")
    machine.tool("dpkg-query", "exit 1")
    machine.tool("sudo", "echo 'sudo: a terminal is required' >&2; exit 1")
    code, _, err = machine.setup()
    assert code == 1 and "a terminal is required" in err
    assert "apt-get update && apt-get install --no-install-recommends gcc " in err


def test_a_user_with_every_package_needs_no_root_for_the_sources(machine):
    machine.tool("id", "echo 1000")
    machine.tool("sudo", "exit 1")
    assert machine.setup()[0] == 0
    assert not machine.calls("sudo")


def test_without_network_it_says_what_where_and_what_to_do(machine):
    machine.tool("dpkg-query", "exit 1")
    machine.tool("apt-get", f"cat <<'E'\n{NO_DNS}E\nexit 100")
    code, _, err = machine.setup()
    assert code == 1 and "resolving 'mirror'" in err
    assert "mirror in /etc/apt/sources.list* cannot be reached (log: build/setup.log)" in err
    assert "run the same command again" in err and len(err.splitlines()) < 6


def test_one_dead_mirror_of_several_does_not_stop_it(machine):
    machine.tool("dpkg-query", 'case "$*" in *nanopb) exit 1 ;; *) echo "ii " ;; esac')
    machine.tool("apt-get", f'case "$*" in *update*) cat <<\'E\'\nHit:1 http://other bookworm\n{NO_DNS}E\nexit 100 ;;\n'
                 '*source*) echo "Version: 1.2-3" >nanopb_1.2-3.dsc ;; esac')
    assert machine.setup()[0] == 0


def test_without_network_the_sources_say_so_too(machine):
    machine.tool("apt-get", f"cat <<'E'\n{NO_DNS}E\nexit 100")
    code, _, err = machine.setup()
    assert code == 1 and "cannot be reached (log: build/apt/update.log)" in err and "run the same command again" in err


def test_a_package_that_cannot_be_installed_shows_apts_reason(machine):
    machine.tool("dpkg-query", "exit 1")
    machine.tool("apt-get", 'case "$*" in *install*) echo "E: Unable to locate package gcc"; exit 100 ;; esac')
    code, _, err = machine.setup()
    assert code == 1 and "Unable to locate package gcc" in err and "Log: build/setup.log" in err


def test_an_interrupted_unpacking_is_done_again(machine):
    whole = (machine.bin / "dpkg-source").read_text()
    machine.tool("dpkg-source", 'mkdir -p "$4"; echo half >"$4/pb.h"; kill -9 $PPID')
    assert machine.setup()[0] != 0
    assert not (machine.clone / "build" / "src" / "nanopb").exists()
    (machine.bin / "dpkg-source").write_text(whole)
    assert machine.setup()[0] == 0
    assert (machine.clone / "build" / "src" / "nanopb" / "pb.h").read_text() == "done\n"
