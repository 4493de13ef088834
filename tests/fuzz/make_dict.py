"""make_dict.py: the words of graphs and manifests as a libFuzzer dictionary, from the tables that the readers are made of."""
import re

TABLES = ["host_tools/graphc/graph_tags.def", "engine/board/manifest_tags.def", "engine/base/raw_types.def",
          "engine/base/units.def", "engine/base/domains.def", "engine/script/script_opcodes.def"]
MORE = ["_end_", "{1 ", "{-1 ", "}", "i8;", "u8;", "h16;", "s16;", "f32;", "i16;", "0x", "%%", "; ", "arm_stream_"]


def words():
    for path in TABLES:
        with open(path) as f:
            for first, second in re.findall(r'^TW_\w+\(\s*(\w+),\s*"?([^",)]*)"?', f.read(), re.M):
                yield second if first.isdigit() or first.startswith("0x") else first
    yield from MORE


for word in sorted({w.strip() for w in words() if w.strip()} | set(MORE)):
    print('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"')
