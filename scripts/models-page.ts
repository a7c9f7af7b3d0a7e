/**
 * npm run docs:models: writes docs/models.md from what the fixtures show on this machine. Run it after a change of
 * families, formats or backends.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { supportedModelTypes } from '../extension/engine/core/models/registry';
import { BLOCK_TYPES } from '../extension/engine/loading/weights';
import { convertedTo, GGUF_FAMILIES } from '../test/engine/loading/gguf/families';
import {
  check,
  checkpointsIn,
  describe,
  messageOf,
  variants,
  type Variant,
} from './lib/conformance';

const ROOT = resolve(__dirname, '..');

/** What people know a family by. */
const KNOWN: Readonly<Record<string, string>> = {
  deepseek_v2: 'DeepSeek-V2-Lite, DeepSeek-Coder-V2-Lite',
  gemma: 'Gemma, CodeGemma',
  gemma2: 'Gemma 2',
  gemma3_text: 'Gemma 3 (the language part of the larger ones)',
  glm4: 'GLM-4 0414',
  gpt_oss: 'gpt-oss',
  granite: 'Granite 3',
  llama: 'Llama 1 to 3, CodeLlama, DeepSeek-Coder, Mellum, SmolLM2, Yi',
  mistral: 'Mistral 7B, Mistral Nemo, Codestral; Mistral Small and Devstral (their language part)',
  olmo2: 'OLMo 2',
  phi3: 'Phi-3, Phi-3.5, Phi-4',
  qwen2: 'Qwen2, Qwen2.5, Qwen2.5-Coder',
  qwen3: 'Qwen3',
  qwen3_5_moe_text: 'Qwen3.5 and 3.6 mixtures (the language part)',
  qwen3_5_text: 'Qwen3.5 and 3.6 (the language part)',
  qwen3_moe: 'Qwen3-30B-A3B, Qwen3-Coder',
  qwen3_next: 'Qwen3-Next, Qwen3-Coder-Next',
  smollm3: 'SmolLM3',
  starcoder2: 'StarCoder2',
};

/** What no checkpoint of the fixtures can show; for SmolLM3, families.test.ts makes a deeper one. */
const OTHER_GGUF: Readonly<Record<string, string>> = {
  mistral: 'as `llama`',
  smollm3: 'yes',
};

const INTRODUCTION = `# Models

<!-- Written by npm run docs:models; edit scripts/models-page.ts instead. -->

anllm loads Hugging Face and MLX folders (config.json, tokenizer.json and safetensors) and GGUF files, also split ones, by
their path or by the name that Hugging Face's cache, LM Studio or Ollama has for them: \`anllm models\` lists what is
there. What it does not know it refuses, with the name of the key or tensor and what it expected.

A family works when the tiny checkpoint of it in \`test/fixtures/\` gives the logits of Hugging Face transformers: on the exact
backends within a relative error of 2e-3 and with the same 24 greedy tokens for two prompts, on the fast one with a cosine
of at least 0.999. \`npm run conformance\` prints the figures; [add-a-model.md](add-a-model.md) tells how to add a family.

- **reference**: plain TypeScript, always works, slow. \`--backend reference\`
- **cpu-exact**: the native CPU backend with float activations. \`--precision exact\`
- **cpu**: the same with activations in integers, the default. When a model is loaded, some tokens are computed with 8 and with
  16 bits: 8 are taken if the logits agree, else 16 for attention, else 16. The result is kept for later loads. That takes longer
  than reading a large model (64 MB and more), so the extension, \`run\` and \`complete\` leave it for later the first time:
  activations have 16 bits then, which is never less exact, and slower. The result is found out while nothing runs, else by the
  second load. The extension loads the model anew when it is faster then; a model that is loaded never changes its answers.
- **gguf**: the checkpoint converted to GGUF gives the same on all these backends. In GGUF, Mistral is the architecture
  \`llama\`; experts in it (Mixtral) are refused.

`;

const FORMATS = `
## Formats of weights

Formats are decoded before a family sees them, so every format works with every family; tests compare each with the values
that the makers' own packages give, on every backend and instruction set.

- **safetensors**: bf16, f16, f32; MLX affine 2, 3, 4, 5, 6 and 8 bit in groups of 32, 64 or 128, with exceptions by layer; MLX
  mxfp4, mxfp8 and nvfp4; the mxfp4 of OpenAI's gpt-oss
- **GGUF** versions 2 and 3: F32, F16, BF16, ${BLOCK_TYPES.join(', ')}

\`--force-dequantized\` decodes all of them to float32 at load, to find out whether quantized arithmetic is at fault.
`;

/** By family: whether its checkpoints, converted to GGUF, pass on all backends. Families without one are absent. */
async function ggufResults(backends: readonly Variant[]): Promise<ReadonlyMap<string, boolean>> {
  const results = new Map<string, boolean>();
  for (const name of GGUF_FAMILIES) {
    const checkpoint = join(ROOT, 'test/fixtures/families', name);
    const { family } = describe(checkpoint);
    const folder = convertedTo(mkdtempSync(join(tmpdir(), 'anllm-gguf-')), checkpoint);
    for (const variant of backends) {
      const { pass } = await check(folder, variant);
      results.set(family, pass && (results.get(family) ?? true));
    }
    rmSync(folder, { recursive: true });
  }
  return results;
}

async function main(): Promise<void> {
  const backends = variants(null);
  const byFamily = new Map<string, { formats: Set<string>; failed: Set<string> }>();
  for (const set of ['families', 'conformance']) {
    for (const dir of checkpointsIn(join(ROOT, 'test/fixtures', set))) {
      const { family, format } = describe(dir);
      const row = byFamily.get(family) ?? { formats: new Set(), failed: new Set() };
      byFamily.set(family, row);
      row.formats.add(format);
      for (const variant of backends) {
        if (!(await check(dir, variant)).pass) row.failed.add(variant.name);
      }
    }
  }
  const gguf = await ggufResults(backends);
  const names = backends.map(({ name }) => name);
  const header = ['model_type', 'models', 'checkpoints tested', ...names, 'gguf'];
  const rows = supportedModelTypes().map((family) => {
    const { formats, failed } = byFamily.get(family) ?? { formats: [], failed: new Set(['all']) };
    const marks = backends.map(({ name }) =>
      failed.has(name) || failed.has('all') ? 'no' : 'yes',
    );
    return [
      `\`${family}\``,
      KNOWN[family] ?? '',
      [...formats].sort().join(', '),
      ...marks,
      OTHER_GGUF[family] ?? (gguf.get(family) === true ? 'yes' : 'no'),
    ];
  });
  const lines = [header, header.map(() => '---'), ...rows].map(
    (cells) => `| ${cells.join(' | ')} |`,
  );
  writeFileSync(join(ROOT, 'docs/models.md'), `${INTRODUCTION}${lines.join('\n')}\n${FORMATS}`);
}

main().catch((error: unknown) => {
  console.error(messageOf(error));
  process.exitCode = 2;
});
