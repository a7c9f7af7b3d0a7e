import { Environment, Interpreter, type parse } from '@huggingface/jinja';

export type TemplateProgram = ReturnType<typeof parse>;
type Statement = Parameters<Interpreter['evaluate']>[0];
type Value = ReturnType<Interpreter['evaluate']>;

/** Evaluated nodes; a conversation of a thousand messages takes some hundred thousand. */
const MAX_STEPS = 2_000_000;
/** A step can take long: each pass of a loop copies its variables. */
const MAX_TIME_MS = 5_000;
/** Steps between looks at the clock. */
const CLOCK_STEPS = 1_024;
/** Elements of a range. */
const MAX_RANGE = 100_000;
/** Characters of one text: twice the largest request. */
const MAX_TEXT = 32 * 1024 * 1024;
/** Characters of all texts of one rendering together, which bounds memory. */
const MAX_TOTAL = 512 * 1024 * 1024;

/** The template called `raise_exception`: it does not take this conversation. */
export class TemplateRejection extends Error {}

/**
 * Renders a parsed template. The library has no way out of its own values; what it lacks are limits, and a model's
 * template may loop for ever or double a text thirty times. Throws when one is reached.
 */
export function renderTemplate(
  program: TemplateProgram,
  variables: Readonly<Record<string, unknown>>,
): string {
  const environment = new Environment();
  for (const [name, value] of Object.entries({ ...GLOBALS, ...variables }))
    environment.set(name, value);
  try {
    return new BoundedInterpreter(environment).run(program).toString();
  } catch (error) {
    if (error instanceof RangeError)
      throw new Error('nested too deeply, or a text too long', { cause: error });
    throw error;
  }
}

class BoundedInterpreter extends Interpreter {
  private steps = 0;
  private characters = 0;
  private readonly started = performance.now();

  override evaluate(statement: Statement, environment: Environment): Value {
    if (++this.steps > MAX_STEPS) throw new Error(`more than ${MAX_STEPS} steps`);
    if (this.steps % CLOCK_STEPS === 0 && performance.now() - this.started > MAX_TIME_MS) {
      throw new Error(`more than ${MAX_TIME_MS} ms`);
    }
    const result = super.evaluate(statement, environment);
    if (result.type === 'StringValue') {
      const { length } = result.value as string;
      this.characters += length;
      if (length > MAX_TEXT || this.characters > MAX_TOTAL) throw new Error('a text too long');
    }
    return result;
  }
}

/** What Hugging Face's own renderer gives to templates besides Jinja's built-in functions. */
const GLOBALS = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  raise_exception: (message: string) => {
    throw new TemplateRejection(message);
  },
  range: boundedRange,
  strftime_now: (format: string) => formatTime(new Date(), format),
} as const;

function boundedRange(first: number, last?: number, step = 1): number[] {
  const [start, stop] = last === undefined ? [0, first] : [first, last];
  const count = Math.max(Math.ceil((stop - start) / step), 0);
  if (!(count <= MAX_RANGE))
    throw new Error(`range of ${count} elements, expected at most ${MAX_RANGE}`);
  return Array.from({ length: count }, (_, i) => start + i * step);
}

const MONTHS =
  'January February March April May June July August September October November December';
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday';

/** Python's strftime, in English, for the fields that templates use. */
export function formatTime(time: Date, format: string): string {
  const month = MONTHS.split(' ')[time.getMonth()] ?? '';
  const day = DAYS.split(' ')[time.getDay()] ?? '';
  const two = (value: number) => String(value).padStart(2, '0');
  const fields: Readonly<Record<string, string>> = {
    '%Y': String(time.getFullYear()),
    '%y': two(time.getFullYear() % 100),
    '%m': two(time.getMonth() + 1),
    '%B': month,
    '%b': month.slice(0, 3),
    '%d': two(time.getDate()),
    '%A': day,
    '%a': day.slice(0, 3),
    '%H': two(time.getHours()),
    '%M': two(time.getMinutes()),
    '%S': two(time.getSeconds()),
    '%%': '%',
  };
  return format.replace(/%./g, (field) => fields[field] ?? field);
}
