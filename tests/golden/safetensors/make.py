"""Makes the files of this folder: small inputs as public bug reports describe them.

Usage: make.py   (writes beside itself)
"""
import os
import struct

here = os.path.dirname(os.path.abspath(__file__))
data = struct.pack("<4f", 1, 2, 3, 4)
entry = b'"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}'


def write(name, content):
    with open(os.path.join(here, name), "wb") as file:
        file.write(content)


def with_header(json):
    return struct.pack("<Q", len(json)) + json + data


good = with_header(b"{" + entry + b"}" + 7 * b" ")
write("st_ok.safetensors", good)
write("st_truncated.safetensors", good[:-6])
write("st_misaligned_header.safetensors", with_header(b'{"__metadata__":{"n":"x"},' + entry + b"}"))
write("st_is_a_zip.safetensors", b"PK\x03\x04" + 60 * b"\0")
