"""Writes what the `gguf` package of the makers of the format calls the tensors of the checkpoints in test/fixtures/families.

usage: python3 scripts/gguf-names.py > test/fixtures/gguf-names.json     needs gguf 0.19
"""

import json
import os
import re
import struct

import gguf

FAMILIES = "test/fixtures/families"
# model_type -> general.architecture
ARCHITECTURES = {
    "llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "qwen3_moe": "qwen3moe", "gemma": "gemma", "gemma2": "gemma2",
    "gemma3_text": "gemma3", "phi3": "phi3", "starcoder2": "starcoder2", "granite": "granite", "smollm3": "smollm3",
    "olmo2": "olmo2", "glm4": "glm4", "gpt_oss": "gpt-oss", "deepseek_v2": "deepseek2", "qwen3_next": "qwen3next",
    "qwen3_5_text": "qwen35", "qwen3_5_moe_text": "qwen35moe",
}


def tensor_names(folder):
    with open(f"{folder}/model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return [name for name in header if name != "__metadata__"]


def stems(name):
    """The module paths that the tensor becomes; converters split and stack experts before they ask for names."""
    path = re.sub(r"\.(weight|bias)$", "", name).replace(".experts.down_proj_bias", ".experts.down_proj")
    path = re.sub(r"\.experts\.\d+\.", ".experts.", path).replace(".dt_bias", ".dt_proj")
    if path.endswith("kv_b_proj"):
        return [path, path.replace("kv_b", "k_b"), path.replace("kv_b", "v_b")]
    if path.endswith("in_proj_qkvz"):
        return [path, path.replace("qkvz", "qkv"), path.replace("qkvz", "z")]
    both = re.fullmatch(r"(.*\.experts)\.gate_up_proj(_bias)?", path)
    if path.endswith(".experts.gate_proj"):
        return [path, path.replace("gate_proj", "gate_up_proj")]
    return [f"{both[1]}.gate_proj", f"{both[1]}.up_proj"] if both else [path]


result = {}
for case in sorted(os.listdir(FAMILIES)):
    config = json.load(open(f"{FAMILIES}/{case}/config.json"))
    name = ARCHITECTURES.get(config["model_type"])
    if name is None or "quantization" in config:
        continue
    arch = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == name)
    names = gguf.get_tensor_name_map(arch, 1)
    for tensor in tensor_names(f"{FAMILIES}/{case}"):
        for stem in stems(tensor):
            first = re.sub(r"\.layers\.\d+\.", ".layers.0.", stem)
            result.setdefault(name, {})[first] = names.get_name(first)
print(json.dumps(result, indent=1, sort_keys=True))
