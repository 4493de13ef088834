"""gst_biquads.py WAV COUNT B0,B1,B2,A1,A2: processor seconds GStreamer needs for COUNT biquads in series over a file.

filesrc ! wavparse ! audioconvert ! COUNT x audioiirfilter ! fakesink. Coefficients as arm_stream_filter has them, with
the feedback's sign turned for audioiirfilter; gst-launch-1.0 cannot set arrays, hence this. Counted from PLAYING to the
end of the stream: what starting costs is not GStreamer's.
"""
import resource
import sys
import warnings

import gi

warnings.simplefilter("ignore", DeprecationWarning)  # audioiirfilter takes its coefficients no other way
gi.require_version("Gst", "1.0")
from gi.repository import GObject, Gst  # noqa: E402


def values(numbers):
    array = GObject.ValueArray()
    for n in numbers:
        array.append(GObject.Value(GObject.TYPE_DOUBLE, n))
    return array


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main():
    wav, count, (b0, b1, b2, a1, a2) = sys.argv[1], int(sys.argv[2]), map(float, sys.argv[3].split(","))
    Gst.init(None)
    filters = " ! ".join(["audioiirfilter"] * count)
    pipeline = Gst.parse_launch(f"filesrc location={wav} ! wavparse ! audioconvert ! {filters} ! fakesink name=sink")
    done, elements = pipeline.iterate_elements(), []
    while True:
        result, element = done.next()
        if result != Gst.IteratorResult.OK:
            break
        elements.append(element)
    for element in elements:
        if element.get_factory().get_name() == "audioiirfilter":
            element.set_property("b", values([b0, b1, b2]))
            element.set_property("a", values([1.0, -a1, -a2]))
    start = cpu_s()
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    if message.type != Gst.MessageType.EOS:
        raise SystemExit(f"gst_biquads: {message.parse_error()}")
    print(f"{cpu_s() - start:.6f}")
    pipeline.set_state(Gst.State.NULL)


main()
