/** Stands for the module `vscode`, which is in an extension host only: what a test does not set answers everything. */
import Module from 'node:module';

type Loader = { _load: (name: string, ...rest: unknown[]) => unknown };

const anything: object = new Proxy(class {}, {
  get: (_, key) => (key === 'then' ? undefined : anything),
  construct: () => anything,
  apply: () => anything,
});

/** Imports of `vscode` after this get `api`. */
export function stubVsCode(api: object): void {
  const loader = Module as unknown as Loader;
  const load = loader._load;
  const stub = new Proxy(api, {
    get: (target, key): unknown => (key in target ? Reflect.get(target, key) : anything),
  });
  loader._load = (name, ...rest) => (name === 'vscode' ? stub : load(name, ...rest));
}
