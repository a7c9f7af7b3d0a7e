import type { ServedModel } from './engine';
import type { SchedulerMetrics } from '../generation/scheduler/metrics';

/** Prometheus text format 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/ */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type Labels = Readonly<Record<string, string>>;

class Counter {
  private readonly values = new Map<string, number>();

  constructor(
    private readonly name: string,
    private readonly help: string,
  ) {}

  add(labels: Labels, amount = 1): void {
    const key = labelText(labels);
    this.values.set(key, (this.values.get(key) ?? 0) + amount);
  }

  lines(): string[] {
    return family(
      this.name,
      this.help,
      'counter',
      [...this.values].map(([key, value]) => `${this.name}${key} ${value}`),
    );
  }
}

class Histogram {
  private readonly counts: number[];
  private sum = 0;
  private count = 0;

  constructor(
    private readonly name: string,
    private readonly help: string,
    /** Upper bounds, ascending. */
    private readonly bounds: readonly number[],
  ) {
    this.counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.sum += value;
    this.count++;
    this.bounds.forEach((bound, i) => {
      if (value <= bound) this.counts[i] = (this.counts[i] ?? 0) + 1;
    });
  }

  lines(): string[] {
    const { name } = this;
    const buckets = this.bounds.map(
      (bound, i) => `${name}_bucket{le="${bound}"} ${this.counts[i] ?? 0}`,
    );
    return family(name, this.help, 'histogram', [
      ...buckets,
      `${name}_bucket{le="+Inf"} ${this.count}`,
      `${name}_sum ${this.sum}`,
      `${name}_count ${this.count}`,
    ]);
  }
}

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const STEP_SECONDS = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** What the server counts itself; the scheduler of each model adds its own numbers. */
export class ServerMetrics {
  readonly requests = new Counter('anllm_http_requests_total', 'Requests by route and status.');
  readonly promptTokens = new Counter('anllm_prompt_tokens_total', 'Tokens of prompts.');
  readonly cachedTokens = new Counter(
    'anllm_prompt_tokens_cached_total',
    'Tokens of prompts that were in the cache.',
  );
  readonly completionTokens = new Counter('anllm_completion_tokens_total', 'Tokens of answers.');
  readonly answers = new Counter('anllm_answers_total', 'Answers by how they ended.');
  readonly firstToken = new Histogram(
    'anllm_time_to_first_token_seconds',
    'From the request to the first text.',
    SECONDS,
  );
  readonly interToken = new Histogram(
    'anllm_inter_token_seconds',
    'Between two pieces of text of an answer.',
    STEP_SECONDS,
  );
  readonly duration = new Histogram(
    'anllm_request_duration_seconds',
    'From the request to the end of its answer.',
    SECONDS,
  );

  text(models: readonly ServedModel[], activeChoices: number): string {
    const own = [
      this.requests,
      this.promptTokens,
      this.cachedTokens,
      this.completionTokens,
      this.answers,
      this.firstToken,
      this.interToken,
      this.duration,
    ].flatMap((metric) => metric.lines());
    const active = family('anllm_active_answers', 'Answers under way.', 'gauge', [
      `anllm_active_answers ${activeChoices}`,
    ]);
    return [...own, ...active, ...schedulerLines(models)].join('\n') + '\n';
  }
}

const SCHEDULER: readonly {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  readonly of: (metrics: SchedulerMetrics) => number;
}[] = [
  {
    name: 'requests_running',
    help: 'Requests of all users that compute.',
    type: 'gauge',
    of: (m) => m.running,
  },
  {
    name: 'requests_waiting',
    help: 'Requests of all users that wait.',
    type: 'gauge',
    of: (m) => m.waiting,
  },
  { name: 'kv_blocks', help: 'Blocks of keys and values.', type: 'gauge', of: (m) => m.blocks },
  {
    name: 'kv_blocks_free',
    help: 'Blocks that nobody uses.',
    type: 'gauge',
    of: (m) => m.freeBlocks,
  },
  {
    name: 'kv_blocks_cached',
    help: 'Blocks kept for later requests.',
    type: 'gauge',
    of: (m) => m.cachedBlocks,
  },
  {
    name: 'cancelled_total',
    help: 'Requests that were cancelled.',
    type: 'counter',
    of: (m) => m.cancelled,
  },
  { name: 'failed_total', help: 'Requests that failed.', type: 'counter', of: (m) => m.failed },
  {
    name: 'preemptions_total',
    help: 'Requests that gave way and were computed anew.',
    type: 'counter',
    of: (m) => m.preemptions,
  },
  { name: 'steps_total', help: 'Steps of the engine.', type: 'counter', of: (m) => m.steps },
];

function schedulerLines(models: readonly ServedModel[]): string[] {
  const loaded = models.flatMap(({ id, loaded }) => {
    const metrics = loaded?.metrics() ?? null;
    return metrics === null ? [] : [{ id, metrics }];
  });
  return SCHEDULER.flatMap(({ name, help, type, of }) => {
    const full = `anllm_engine_${name}`;
    const rows = loaded.map(
      ({ id, metrics }) => `${full}${labelText({ model: id })} ${of(metrics)}`,
    );
    return family(full, help, type, rows);
  });
}

function family(name: string, help: string, type: string, rows: readonly string[]): string[] {
  return rows.length === 0 ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...rows];
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
