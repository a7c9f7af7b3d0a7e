"""Writes tiny random checkpoints of model families, with logits and greedy tokens from Hugging Face transformers in
float32: the independent reference that `npm run conformance` and the tests compare the engine with.

usage: python3 scripts/goldens.py OUT [CASE...]     needs torch, numpy, safetensors and transformers 5.17

Each OUT/CASE holds config.json, model.safetensors (bfloat16, or MLX affine where CASE ends in -qBITS) and
golden.safetensors: for prompts a and b the ids [n], logits [n, vocab] and 24 greedy tokens.
"""

import json
import os
import re
import sys

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

SEED = 3
GREEDY_TOKENS = 24
PROMPT_LENGTHS = {"a": 41, "b": 7}

BASE = dict(
    vocab_size=192, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=4096, initializer_range=0.08, bos_token_id=1, eos_token_id=2,
    pad_token_id=0,
)
MOE = dict(num_experts=8, num_experts_per_tok=2, moe_intermediate_size=64)
DELTA = dict(
    head_dim=32, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=16,
    linear_value_head_dim=32, linear_conv_kernel_dim=4, layer_types=["linear_attention", "full_attention"],
)
MIXED_LAYERS = ["sliding_attention", "full_attention"]
LATENT = dict(
    num_key_value_heads=4, kv_lora_rank=32, qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=24,
    n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=64, n_shared_experts=2, first_k_dense_replace=1,
)

# case -> model_type and what its config has beyond BASE
CASES = {
    "llama-biased-linear": ("llama", dict(attention_bias=True, mlp_bias=True, rope_parameters=dict(
        rope_type="linear", factor=4.0, rope_theta=1e4))),
    "llama3-rope": ("llama", dict(tie_word_embeddings=True, rope_parameters=dict(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=32, rope_theta=5e5))),
    "qwen2-window": ("qwen2", dict(use_sliding_window=True, sliding_window=16, max_window_layers=1)),
    "qwen2": ("qwen2", dict(tie_word_embeddings=True, rope_theta=1e6)),
    "qwen3-yarn": ("qwen3", dict(head_dim=32, max_position_embeddings=256, rope_parameters=dict(
        rope_type="yarn", factor=4.0, original_max_position_embeddings=64, rope_theta=1e4))),
    "mistral": ("mistral", dict(head_dim=32, sliding_window=16)),
    "starcoder2": ("starcoder2", dict(use_bias=True, norm_epsilon=1e-5, sliding_window=16)),
    "gemma": ("gemma", dict(head_dim=32)),
    "gemma2": ("gemma2", dict(head_dim=32, sliding_window=16, query_pre_attn_scalar=48)),
    "gemma3": ("gemma3_text", dict(head_dim=32, sliding_window=16, query_pre_attn_scalar=48,
                                   layer_types=MIXED_LAYERS)),
    "phi3": ("phi3", dict(sliding_window=16, rope_parameters=dict(
        rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5))),
    "granite": ("granite", dict(embedding_multiplier=2.0, attention_multiplier=0.2, residual_multiplier=0.5,
                                logits_scaling=2.0, attention_bias=True, mlp_bias=True)),
    "smollm3": ("smollm3", dict(no_rope_layers=[1, 0])),
    "olmo2": ("olmo2", {}),
    "glm4": ("glm4", dict(head_dim=32)),
    "qwen3-moe": ("qwen3_moe", dict(MOE, num_hidden_layers=3, head_dim=32, norm_topk_prob=True, mlp_only_layers=[1])),
    "gpt-oss": ("gpt_oss", dict(head_dim=32, num_local_experts=4, num_experts_per_tok=2, sliding_window=16,
                                layer_types=MIXED_LAYERS)),
    "deepseek-v2-lite": ("deepseek_v2", dict(LATENT, q_lora_rank=None, topk_method="greedy", n_group=1, topk_group=1)),
    "deepseek-v2": ("deepseek_v2", dict(
        LATENT, q_lora_rank=48, topk_method="group_limited_greedy", n_group=4, topk_group=2,
        routed_scaling_factor=2.5, rope_parameters=dict(
            rope_type="yarn", factor=4.0, original_max_position_embeddings=32, rope_theta=1e4, mscale=0.7,
            mscale_all_dim=0.7))),
    "qwen3-next": ("qwen3_next", dict(MOE, **DELTA, shared_expert_intermediate_size=32, mlp_only_layers=[1])),
    "qwen3.5": ("qwen3_5_text", DELTA),
    "qwen3.5-moe": ("qwen3_5_moe_text", dict(MOE, **DELTA, shared_expert_intermediate_size=32)),
}
# case -> the quantized variants made of it, as bits and group size
QUANTIZED = {
    "qwen2": [(4, 64)],
    "llama3-rope": [(2, 64), (3, 64), (5, 64), (6, 64), (8, 64), (4, 32)],
    "qwen3-moe": [(4, 64)],
}


def randomize(model):
    """Weights that keep activations of order one, exact in bfloat16; the library's own are too small to test with."""
    torch.manual_seed(SEED)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" in name:
                p.add_(torch.randn_like(p) * 0.2)
            elif name.endswith("bias") or "sinks" in name:
                p.copy_(torch.randn_like(p) * 0.1)
            elif p.ndim >= 2 and "conv" not in name:
                p.copy_(torch.randn_like(p) * (4.0 if "embed" in name else 1.5) / p.shape[-1] ** 0.5)
            p.copy_(p.bfloat16().float())


def golden(model, path):
    rng = np.random.default_rng(SEED)
    tensors = {}
    for name, length in PROMPT_LENGTHS.items():
        prompt = torch.tensor(rng.integers(3, BASE["vocab_size"], length))[None]
        ids = prompt
        with torch.no_grad():
            tensors[f"{name}.logits"] = model(ids).logits[0].float().contiguous()
            for _ in range(GREEDY_TOKENS):  # without a cache: the plainest path through the library
                ids = torch.cat([ids, model(ids).logits[:, -1].argmax(-1, keepdim=True)], 1)
        tensors[f"{name}.ids"] = prompt[0].to(torch.int32)
        tensors[f"{name}.greedy"] = ids[0, length:].to(torch.int32)
    save_file(tensors, path)


def quantize(weight, bits, group):
    """MLX affine: packed words, scales, biases, and the values that they stand for."""
    w = weight.float().numpy()
    g = w.reshape(*w.shape[:-1], -1, group)
    levels = 2**bits - 1
    high, low = g.max(-1, keepdims=True), g.min(-1, keepdims=True)
    scale = np.maximum((high - low) / levels, 1e-7)
    scale = np.where(abs(low) > abs(high), scale, -scale)
    edge = np.where(abs(low) > abs(high), low, high)
    steps = np.round(edge / scale)
    scale = np.where(steps != 0, edge / np.where(steps == 0, 1, steps), scale)
    rounded = [torch.from_numpy(a.astype(np.float32)).bfloat16() for a in (scale, np.where(steps == 0, 0, edge))]
    scale, bias = (t.float().numpy() for t in rounded)
    q = np.clip(np.round((g - bias) / scale), 0, levels).astype(np.uint32).reshape(w.shape)
    values = (q.reshape(g.shape) * scale + bias).reshape(w.shape).astype(np.float32)
    stream = (q.reshape(-1, q.shape[-1])[:, :, None] >> np.arange(bits)) & 1  # each value's lowest bit first
    packed = np.packbits(stream.astype(np.uint8).reshape(stream.shape[0], -1), axis=1, bitorder="little")
    packed = packed.view("<u4").reshape(*q.shape[:-1], -1)
    return torch.from_numpy(packed.copy()), rounded[0][..., 0], rounded[1][..., 0], torch.from_numpy(values)


def stack_experts(tensors):
    """MLX keeps the experts of a layer in one tensor, switch_mlp.NAME_proj."""
    stacked, rest = {}, {}
    for name, tensor in tensors.items():
        match = re.fullmatch(r"(.*)\.experts\.(\d+)\.(\w+_proj\.weight)", name)
        if match:
            stacked.setdefault(f"{match[1]}.switch_mlp.{match[3]}", {})[int(match[2])] = tensor
        else:
            rest[name] = tensor
    return rest | {name: torch.stack([e[i] for i in range(len(e))]) for name, e in stacked.items()}


def restore(state, name, values):
    """Puts the values of a quantized tensor where transformers' model keeps them."""
    match = re.fullmatch(r"(.*)\.switch_mlp\.(gate|up|down)_proj\.weight", name)
    if match is None:
        state[name] = values
    elif match[2] == "down":
        state[f"{match[1]}.experts.down_proj"] = values
    else:
        both = state[f"{match[1]}.experts.gate_up_proj"].clone()
        half = both.shape[1] // 2
        both[:, :half] = values if match[2] == "gate" else both[:, :half]
        both[:, half:] = values if match[2] == "up" else both[:, half:]
        state[f"{match[1]}.experts.gate_up_proj"] = both


def write_quantized(model, dense, config, out, bits, group):
    os.makedirs(out, exist_ok=True)
    state, tensors = model.state_dict(), {}
    for name, tensor in stack_experts(dense).items():
        if name.endswith(".weight") and tensor.ndim >= 2 and tensor.shape[-1] % group == 0:
            path = name.removesuffix(".weight")
            tensors[name], tensors[f"{path}.scales"], tensors[f"{path}.biases"], values = quantize(tensor, bits, group)
            restore(state, name, values)
        else:
            tensors[name] = tensor
    if config["tie_word_embeddings"]:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state)
    save_file(tensors, f"{out}/model.safetensors", {"format": "mlx"})
    json.dump(config | {"quantization": {"group_size": group, "bits": bits}}, open(f"{out}/config.json", "w"), indent=1)
    golden(model, f"{out}/golden.safetensors")


def write_case(out, case):
    model_type, extra = CASES[case]
    config = AutoConfig.for_model(model_type, **{**BASE, **extra})
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    randomize(model)
    folder = f"{out}/{case}"
    os.makedirs(folder, exist_ok=True)
    model.save_pretrained(folder, safe_serialization=True)
    dense = {k: v.bfloat16().contiguous() for k, v in load_file(f"{folder}/model.safetensors").items()}
    save_file(dense, f"{folder}/model.safetensors", {"format": "pt"})
    if os.path.exists(f"{folder}/generation_config.json"):
        os.remove(f"{folder}/generation_config.json")
    golden(model, f"{folder}/golden.safetensors")
    config_json = json.load(open(f"{folder}/config.json"))
    for bits, group in QUANTIZED.get(case, []):
        write_quantized(model, dense, config_json, f"{out}/{case}-q{bits}-g{group}", bits, group)


if __name__ == "__main__":
    for wanted in sys.argv[2:] or CASES:
        write_case(sys.argv[1], wanted)
        print(wanted, flush=True)
