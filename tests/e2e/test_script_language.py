"""The script language at the command line, on a device, in graph texts and from Python."""
import glob
import json
import os
import subprocess

import pytest
import tunewire
from conftest import PLATFORM, ROOT, TOOL, wait_for, write_wav

GRAPH = os.path.join(ROOT, "examples", "voice_gate_f32.txt")
EXAMPLES = sorted(glob.glob(os.path.join(ROOT, "examples", "scripts", "*.tws")))
GATE = open(os.path.join(ROOT, "examples", "voice_gate.txt")).read()
HEAD, TAIL = GATE.split("script 0\n", 1)
TAIL = TAIL.split("_end_\n_end_\n", 1)[1]
COUNT = "var n = 40\nvar wide[20]\nn += 2\nwide[19] = n\nreturn wide[19]\n"


def tool(*args):
    run = subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True, cwd=ROOT)
    return run.returncode, run.stdout, run.stderr


def graph_with(source, tags=""):
    return HEAD + f"script 0\n{tags}    script_source\n{source}\n    _end_\n_end_\n" + TAIL


@pytest.mark.parametrize("path", EXAMPLES, ids=os.path.basename)
def test_examples_compile_and_their_listing_assembles_to_the_same_words(path, tmp_path):
    binary, listing, again = tmp_path / "a.bin", tmp_path / "a.txt", tmp_path / "b.bin"
    code, out, err = tool("script", "compile", path, "--graph", GRAPH, "-o", binary, "--cost")
    assert code == 0 and "instructions a call" in out, err
    code, out, err = tool("script", "compile", path, "--graph", GRAPH, "--asm")
    assert code == 0, err
    listing.write_text(out)
    code, out, err = tool("script", "asm", listing, "-o", again)
    assert code == 0 and err == "", err
    assert binary.read_bytes() == again.read_bytes()


def test_json_and_the_line_map(tmp_path):
    text, out_map = tmp_path / "x.tws", tmp_path / "x.map.json"
    text.write_text("let a = 1\n\ntrace a, 2, 3\n")
    code, out, err = tool("script", "compile", text, "-o", tmp_path / "x.bin", "--map", out_map, "--json")
    assert code == 0, err
    doc = json.loads(out)
    assert doc["bounded"] and doc["registers"] == 4 and doc["pointers"] == 2 and doc["instructions"] >= 6
    lines = json.loads(out_map.read_text())
    assert lines["file"] == str(text)
    assert [r["line"] for r in lines["lines"]] == [1, 3] and lines["lines"][0]["pc"] == 0


def test_errors_name_the_place_and_exit_with_4(tmp_path):
    text = tmp_path / "bad.tws"
    text.write_text("let a = 1\nlet b = aa + 1\n")
    code, out, err = tool("script", "compile", text)
    assert code == 4 and out == ""
    assert f"{text}:2:9: error: unknown name 'aa', did you mean 'a'?" in err and "    2 | let b = aa + 1" in err
    text.write_text("filter.0.stages = 9\n")
    code, out, err = tool("script", "compile", text, "--graph", GRAPH)
    assert code == 4 and "takes 1..2" in err
    code, out, err = tool("script", "compile", text, "--graph", GRAPH, "--json")
    assert code == 4 and json.loads(out)


def test_limits_of_the_script_to_be_replaced(tmp_path):
    text = tmp_path / "x.tws"
    text.write_text(COUNT)
    code, out, err = tool("script", "compile", text, "--graph", GRAPH, "--script", 0)
    assert code == 4 and "script_registers 3" in err  # the example declares 2
    code, out, err = tool("script", "compile", text, "--memory", 64, "-o", tmp_path / "x.bin")
    assert code == 4 and "script_heap" in err


@pytest.mark.parametrize("pointers", [2, 3, 5])
def test_a_text_replaces_a_script_of_a_device(server, compiled, tmp_path, pointers):
    text = tmp_path / "count.tws"
    text.write_text(COUNT)
    tags = f"script_registers 4\nscript_pointers {pointers}\nscript_stack 4\nscript_heap 40\n"
    graph = HEAD + f"script 0\n{tags}script_assembler\nret\n_end_\n_end_\n" + TAIL
    s = server(ios=["audio_in_0=" + write_wav(tmp_path / "in.wav", [1, 2, 3, 4] * 100)], graph=compiled(graph))
    code, out, err = tool("-t", s.uri, "script", "load", 0, text)
    assert code == 0, err
    with tunewire.connect(s.uri) as dev:
        assert [dev.run_script(0).regs[1] for _ in range(3)] == [42, 44, 46]
        os.environ["TUNEWIRE_TOOL"] = TOOL
        text.write_text("var n = 1\nn *= 3\ntable t = [7, 8, 9]\nlet i = n\nreturn t[i] * 100 + n")
        dev.load_script(0, str(text))
        assert [dev.run_script(0).regs[1] for _ in range(2)] == [903, 909]  # beyond the table is its last element
        text.write_text("filter.0.stages = 1\nevent 5, detector.0.threshold, \"t\"")
        dev.load_script(0, str(text))
        assert dev["filter.0"]["stages"] == 2
        dev.run_script(0)
        assert wait_for(lambda: dev["filter.0"]["stages"] == 1)
        text.write_text("filter.0.stages = true = 3")
        with pytest.raises(tunewire.TunewireError, match="expected the end of the statement"):
            dev.load_script(0, str(text))
    s.stop()


SOURCE = """        # counts calls; keeps its own pace
        var n = 0; n += 1
        if n mod 2 == 0 then
            gpio 1 = toggle
        end
        amplifier.0.mute = n mod 2
        table limits = [1,
                        2]
        trace 1, limits[0], n"""


def test_a_graph_text_holds_a_script(server, compiled, tmp_path):
    graph = tmp_path / "g.txt"
    graph.write_text(graph_with(SOURCE))
    code, out, err = tool("compile", graph, "--platform", PLATFORM, "-o", tmp_path / "g.twg", "--strict")
    assert code == 0, err
    code, text, err = tool("decompile", tmp_path / "g.twg", "--platform", PLATFORM)
    assert code == 0 and "script_registers" in text, err
    again = tmp_path / "again.txt"
    again.write_text(text)
    assert open(compiled(text), "rb").read() == (tmp_path / "g.twg").read_bytes()
    s = server(ios=["audio_in_0=" + write_wav(tmp_path / "in.wav", [1, 2, 3, 4] * 100)], graph=tmp_path / "g.twg")
    with tunewire.connect(s.uri) as dev:
        dev.run_script(0)
        assert wait_for(lambda: dev["amplifier.0"]["mute"] == 1)
        dev.run_script(0)
        assert wait_for(lambda: dev["amplifier.0"]["mute"] == 0)
        assert dev.scripts()[0].faults == 0
    s.stop()


def test_fmt_leaves_statements_as_they_are(tmp_path):
    graph = tmp_path / "g.txt"
    graph.write_text(graph_with("\n".join(line[6:] for line in SOURCE.split("\n"))))
    code, once, err = tool("graph", "fmt", graph)
    assert code == 0, err
    assert SOURCE in once
    graph.write_text(once)
    assert tool("graph", "fmt", graph)[1] == once


def test_errors_in_a_graph_text_stand_at_their_line(tmp_path):
    graph = tmp_path / "g.txt"
    graph.write_text(graph_with("        let a = 1\n        amplifier.0.mut = a"))
    line = 1 + graph.read_text().split("\n").index("        amplifier.0.mut = a")
    code, out, err = tool("compile", graph, "--platform", PLATFORM)
    assert code == 4 and f"{graph}:{line}:21: error: unknown parameter 'mut', did you mean 'mute'?" in err, err
    graph.write_text(graph_with("").replace("script_source\n\n", "script_source\n"))
    assert "the script is empty" in tool("compile", graph, "--platform", PLATFORM)[2]
