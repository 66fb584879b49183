"""Reads a file with the reference library and writes the same tensors again.

Usage: safetensors_check.py INPUT OUTPUT
The caller compares the two files byte for byte. Needs only the package `safetensors`.
"""
import ctypes
import sys

import safetensors

NAMES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
         "I32": "int32", "U32": "uint32", "U8": "uint8", "BOOL": "bool"}
buffers = []  # alive until the file is written


def spec(info):
    dtype, shape, data = NAMES[info["dtype"]], info["shape"], bytes(info["data"])
    if not hasattr(safetensors, "TensorSpec"):  # before 0.8
        return {"dtype": dtype, "shape": shape, "data": data}
    buffers.append(ctypes.create_string_buffer(data, max(1, len(data))))
    return safetensors.TensorSpec(dtype=dtype, shape=shape, data_ptr=ctypes.addressof(buffers[-1]),
                                  data_len=len(data))


with open(sys.argv[1], "rb") as file:
    tensors = safetensors.deserialize(file.read())
safetensors.serialize_file({name: spec(info) for name, info in tensors}, sys.argv[2], {"format": "pt"})
