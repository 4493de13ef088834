#!/usr/bin/python3
"""make_messages.py: one request and one response of every method, encoded by Google's protobuf.

Writes tests/golden/wire/messages.txt: "Service.Method.request <hex>". Run from the repository root
after adding a method or a field; protoc and python3-protobuf are needed. Every field is set, to a value
that tells it from its neighbours; test_rpc decodes each with nanopb and must give the same bytes back.
"""
import pathlib
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

with tempfile.TemporaryDirectory() as d:
    subprocess.check_call(["protoc", "-Iprotocol", f"--descriptor_set_out={d}/d", "tunewire.proto"])
    files = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(d, "d").read_bytes())
pool = descriptor_pool.DescriptorPool()
for f in files.file:
    pool.Add(f)
file = pool.FindFileByName("tunewire.proto")
new = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype


def value(field, seed):
    n = seed * 7 + field.number
    t = field.type
    if t == field.TYPE_STRING:
        return f"{field.name[:4]}{n % 10}"[:7]
    if t == field.TYPE_BYTES:
        return bytes((n + i) & 255 for i in range(8))
    if t == field.TYPE_BOOL:
        return True
    if t == field.TYPE_ENUM:
        return field.enum_type.values[-1].number
    if t in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return n + 0.5
    if t in (field.TYPE_SINT32, field.TYPE_SINT64):
        return -n
    if t == field.TYPE_UINT64:
        return (1 << 40) + n
    return 100 + n * 50


def fill(desc, seed=1):
    msg = new(desc)()
    for field in desc.fields:
        repeated = field.label == field.LABEL_REPEATED
        if field.message_type is not None:
            for k in range(2 if repeated else 1):
                sub = fill(field.message_type, seed + k + 1)
                (getattr(msg, field.name).add() if repeated else getattr(msg, field.name)).CopyFrom(sub)
        elif repeated:
            getattr(msg, field.name).extend(value(field, seed + k) for k in range(2))
        else:
            setattr(msg, field.name, value(field, seed))
    return msg


lines = ["# Made by make_messages.py from protocol/tunewire.proto with Google's protobuf; do not edit."]
for service in file.services_by_name.values():
    for method in service.methods:
        for what, desc in (("request", method.input_type), ("response", method.output_type)):
            lines.append(f"{service.name}.{method.name}.{what} {fill(desc).SerializeToString(deterministic=True).hex()}")
pathlib.Path("tests/golden/wire/messages.txt").write_text("\n".join(lines) + "\n")
print(f"{len(lines) - 1} messages", file=sys.stderr)
