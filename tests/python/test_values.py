"""Keys, names, and values of each type: what is sent is what was meant, or nothing is."""
import struct
from types import SimpleNamespace

import pytest
import tunewire
from tunewire.arcs import LETTER, decibels
from tunewire.device import Param, _pick, parse_key

NODE = SimpleNamespace(name="n")


def param(raw, count=1):
    return Param(NODE, SimpleNamespace(index=1, name="p", type=raw, count=count, min=-1, max=1, default_value=0,
                                       unit="", flags=0))


@pytest.mark.parametrize("raw", LETTER)
def test_each_type_comes_back_as_it_went(raw):
    for count, value in ((1, 1), (3, (0, 1, 2))):
        p = param(raw, count)
        data = p.encode(value)
        assert len(data) == count * struct.calcsize("<" + LETTER[raw]) and p.decode(data) == value


@pytest.mark.parametrize("raw, value", [
    (17, 40000), (12, -1), (17, 1.5), (17, "12"), (17, None), (17, [1, 2]), (17, float("nan")), (17, float("inf")),
    (27, 1e300), (27, "x"), (27, []), (99, 1), (17, object())])
def test_what_the_type_cannot_hold_is_refused_before_it_is_sent(raw, value):
    with pytest.raises(tunewire.BadValue):
        param(raw).encode(value)


def test_numbers_of_other_libraries_are_numbers():
    numpy = pytest.importorskip("numpy")
    assert param(17).encode(numpy.int64(7)) == b"\7\0"
    assert param(27).encode(numpy.float32(0.5)) == struct.pack("<f", 0.5)
    assert param(27, 2).encode(numpy.array([1.0, 2.0])) == struct.pack("<2f", 1, 2)
    assert param(17, 2).encode(range(2)) == b"\0\0\1\0"


@pytest.mark.parametrize("text, key", [
    ("lab:0011ff", ("lab", b"\x00\x11\xff")), ("0011FF\n", ("default", b"\x00\x11\xff")),
    ("# a comment\n\n  lab:00 11 \nnext", ("lab", b"\x00\x11"))])
def test_keys_are_read_like_the_key_file(text, key):
    assert parse_key(text) == key


@pytest.mark.parametrize("text", ["", "# only a comment", "lab:", "lab:0", "lab:zz"])
def test_what_is_no_key_is_refused(text):
    with pytest.raises(ValueError):
        parse_key(text)


def test_a_miss_names_what_comes_near():
    table = {"amplifier.0": 0, "filter.0": 1}
    assert _pick(table, 1, lambda n: n, "node") == 1
    with pytest.raises(KeyError, match="amplifier.0") as e:
        _pick(table, "amplifyer.0", lambda n: n, "node")
    assert isinstance(e.value, tunewire.TunewireError)


@pytest.mark.parametrize("uri", ["udp://h", "tcp://", "tcp://h:99999", "tcp://h:x"])
def test_addresses_that_are_none_are_refused(uri):
    with pytest.raises(ValueError):
        tunewire.connect(uri)


def test_a_device_that_is_not_there_says_what_to_look_at():
    with pytest.raises(tunewire.ConnectionLost, match="tunewired"):
        tunewire.connect("tcp://127.0.0.1:1", timeout=1)


def test_levels_are_relative_to_full_scale():
    assert decibels(16384, 17) == pytest.approx(-6.02, abs=0.01) and decibels(0.5, 19) == pytest.approx(-6.02, abs=0.01)
    assert decibels(0, 27) == -float("inf")
