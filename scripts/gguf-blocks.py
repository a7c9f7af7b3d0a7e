"""Writes random blocks of GGUF's quantized formats, and the values that the `gguf` package of the makers of the format
gives them: the independent reference of the tests of our decoders.

usage: python3 scripts/gguf-blocks.py > test/fixtures/gguf-blocks.json     needs gguf 0.19 and numpy
"""

import base64
import json

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

# type -> byte offsets of its half-precision scales, which must be finite
TYPES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
    "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [],
}
VALUES = 512

rng = np.random.default_rng(7)
cases = {}
for name, scales in TYPES.items():
    kind = GGMLQuantizationType[name]
    size, width = GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (VALUES // size, width), dtype=np.uint8)
    for at in scales:
        blocks[:, at : at + 2] = rng.normal(0, 0.1, len(blocks)).astype("<f2").view(np.uint8).reshape(-1, 2)
    if name == "MXFP4":
        blocks[:, 0] = rng.integers(110, 140, len(blocks))
        blocks[:3, 0] = [0, 1, 250]
    values = dequantize(blocks.reshape(1, -1), kind).astype("<f4")
    cases[name] = {
        "blocks": base64.b64encode(blocks.tobytes()).decode(),
        "values": base64.b64encode(values.tobytes()).decode(),
    }
print(json.dumps(cases, indent=1))
