import { basename } from 'node:path';

/**
 * The name that clients give a model: `org/name` where it was named so or is a repository in the Hugging Face cache,
 * else the name of its folder or file.
 */
export function modelIdOf(path: string): string {
  if (/^[\w-][\w.-]*\/[\w-][\w.-]*$/.test(path)) return path;
  const repository = /models--(.+?)--([^/\\]+)[/\\]snapshots[/\\]/.exec(path);
  if (repository !== null) return `${repository[1]}/${repository[2]}`;
  return basename(path).replace(/\.gguf$/i, '');
}

/** Names for several models, numbered where two would be the same. */
export function modelIds(paths: readonly string[]): string[] {
  const taken = new Set<string>();
  return paths.map((path) => {
    const id = modelIdOf(path);
    let free = id;
    for (let n = 2; taken.has(free); n++) free = `${id}-${n}`;
    taken.add(free);
    return free;
  });
}
