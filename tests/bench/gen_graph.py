"""gen_graph.py NODES [--seed N] [--in-order]: the text of a graph of NODES nodes and 1.5 times as many arcs.

Blocks in series between audio_in_0 and line_out_0: a split feeds branches of amplifiers, filters and detectors, a mixer
joins them; one block in eight has a way back to the mixer before it, with a delay. Nodes and arcs are declared in
shuffled order, the most work for whoever has to find them and put them in sequence. A seed names one text for ever.
"""
import argparse
import random
import sys

HEAD = """graph_name scale_{nodes}
format 0
    format_raw_data      S16
    format_frame_length  96
    format_sampling_rate 48000
stream_io 0
    stream_io_hwid   4
stream_io 1
    stream_io_hwid   6
script 0
    script_code
        1 h16; C000
    _end_
_end_
"""
# Node types of one receive and one transmit arc, and what a text may say about them.
INNER = {
    "arm_stream_amplifier": "    node_parameters\n        1 u8;  2\n        1 u16; 0x{:04X}\n    _end_\n",
    "arm_stream_filter": "    node_preset 1\n",
    "arm_stream_detector": "    node_script 0\n",
}
SPLIT, MIXER, MIXER_INPUTS = "arm_stream_split", "arm_stream_mixer", 8


class Graph:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.nodes, self.arcs, self.count = [], [], {}
        self.end = None  # node and port where the graph ends so far; None: the graph's input
        self.joined = 0  # receive arcs in use of the last mixer

    def node(self, kind):
        n = self.count.get(kind, 0)
        self.count[kind] = n + 1
        self.nodes.append((kind, n))
        return kind, n

    def arc(self, start, end, delay=0):
        (kind, n), port = start
        (to, m), into = end
        tail = f"\n    arc_delay {delay}" if delay else ""
        self.arcs.append(f"arc {kind} {n} {port} 0  {to} {m} {into} 0{tail}")

    def block(self, inner, branches, back):
        """`inner` nodes on `branches` ways from a split to a mixer; `back`: one more from the split, backwards."""
        split = self.node(SPLIT)
        if self.end is None:
            self.arcs.append(f"arc_input 0 {SPLIT} 0 0 0")
        else:
            self.arc(self.end, (split, 0))
        ends = [(split, 1 + b) for b in range(branches)]
        for i in range(inner):
            node = self.node(self.random.choice(list(INNER)))
            self.arc(ends[i % branches], (node, 0))
            ends[i % branches] = (node, 1)
        if back:
            self.arc((split, 1 + branches), (self.end[0], self.joined), delay=1)
        mixer = self.node(MIXER)
        for b, end in enumerate(ends):
            self.arc(end, (mixer, b))
        self.end, self.joined = (mixer, MIXER_INPUTS), branches

    def body(self, kind):
        return INNER.get(kind, "").format(self.random.randrange(0x0700, 0x0806))


def build(nodes, seed):
    """A block of b inner nodes on 2 + b/2 ways has 2 + b nodes and, with the arc it begins with, 3 + 1.5 b arcs."""
    g = Graph(seed)
    while len(g.nodes) < nodes:
        left = nodes - len(g.nodes)
        inner = g.random.choice([b for b in (2, 4, 6, 8, 10) if b + 2 == left or b + 2 <= left - 4])
        back = g.end is not None and g.random.random() < 0.125
        last = inner + 2 == left  # its way out is an arc too
        g.block(inner, 2 + inner // 2 - back - last, back)
    (kind, n), port = g.end
    g.arcs.append(f"arc_output 1 {kind} {n} {port} 0")
    return g


def text(nodes, seed=1, in_order=False):
    if nodes < 4 or nodes % 2:
        raise ValueError("an even number of nodes, 4 at least")
    g = build(nodes, seed)
    declared = [f"node {kind} {n}\n{g.body(kind)}_end_" for kind, n in g.nodes]
    if not in_order:
        g.random.shuffle(declared)
        g.random.shuffle(g.arcs)
    return HEAD.format(nodes=nodes) + "\n".join(declared) + "\narc_section\n" + "\n".join(g.arcs) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nodes", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-order", action="store_true", help="declare nodes and arcs in the order they run")
    a = parser.parse_args()
    sys.stdout.write(text(a.nodes, a.seed, a.in_order))


if __name__ == "__main__":
    main()
