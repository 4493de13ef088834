"""Graph texts that several tests and the bench need: audio_in_0 -> n nodes in series -> line_out_0, blocks of 1 ms."""

HEAD = """
format 0
format_raw_data {raw}
format_frame_length {frame}
format_nbchan 1
format_sampling_rate 48000
stream_io 0
stream_io_hwid 4
stream_io_format 0
stream_io 1
stream_io_hwid 6
stream_io_format 0
"""


def chain(node, n, raw, frame, body=""):
    out = [HEAD.format(raw=raw, frame=frame)]
    out += [f"node {node} {i}\n{body}_end_" for i in range(n)]
    out += ["arc_section", f"arc_input 0 {node} 0 0 0"]
    out += [f"arc {node} {i} 1 0 {node} {i + 1} 0 0" for i in range(n - 1)]
    out += [f"arc_output 1 {node} {n - 1} 1 0"]
    return "\n".join(out) + "\n"


def amplifier_chain(n, gain_code="0805", raw=17, frame=96, params=True):
    """Amplifiers with slope 0 and a gain in FP_8m4e; 0805 is 1."""
    body = f"node_parameters\n1 u8; 0\n1 u8; 0\n1 h16; {gain_code}\n1 u8; 0\n2 u16; 0 0\n_end_\n" if params else ""
    return chain("arm_stream_amplifier", n, raw, frame, body)


def filter_chain(n):
    """FP32 filters in bypass."""
    return chain("arm_stream_filter", n, 27, 192)
