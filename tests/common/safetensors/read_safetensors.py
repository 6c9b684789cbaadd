"""Reads a safetensors file with numpy alone, and prints what is in it.

One line a tensor, in the order of the bytes: name, type, shape, sum, first and
last element.
"""

import json
import sys

import numpy

TYPES = {"F32": "<f4", "F64": "<f8", "I64": "<i8", "F16": "<f2", "U8": "<u1"}

data = open(sys.argv[1], "rb").read()
size = int.from_bytes(data[:8], "little")
header = json.loads(data[8:8 + size])
header.pop("__metadata__", None)
for name, tensor in sorted(header.items(), key=lambda t: t[1]["data_offsets"]):
    begin, end = (8 + size + offset for offset in tensor["data_offsets"])
    array = numpy.frombuffer(data[begin:end], TYPES[tensor["dtype"]])
    array = array.reshape(tensor["shape"])
    print(name, tensor["dtype"], list(array.shape), float(array.sum()),
          float(array.flat[0]), float(array.flat[-1]))
