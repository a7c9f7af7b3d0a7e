/**
 * What people call the model at a path: `org/name` in Hugging Face's cache, else the folder's or the file's name. Null for
 * Ollama's files, which are named by a digest.
 */
export function modelTitle(path: string): string | null {
  const [name = '', folder, repository = ''] = path
    .split(/[\\/]+/)
    .filter(Boolean)
    .reverse();
  if (folder === 'snapshots' && repository.startsWith('models--')) {
    return repository.slice('models--'.length).replace('--', '/');
  }
  if (/^sha256[-:][0-9a-f]{64}$/.test(name)) return null;
  return name.replace(/(-\d{5}-of-\d{5})?\.gguf$/i, '');
}
