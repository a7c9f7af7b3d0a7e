/** The machine that the addon is to be loaded on. */
export interface Host {
  readonly platform: string;
  readonly arch: string;
  /** The name of its processor. */
  readonly cpu: string;
}

/** Why the addon cannot be loaded, and what to do; `reason`: what the loader says. */
export function notLoaded(reason: string, { platform, arch, cpu }: Host): string {
  if (platform === 'darwin' && arch === 'x64') {
    return /Apple/.test(cpu)
      ? 'this is an Intel program under Rosetta, and the native engine is made for Apple silicon; install the editor (or node) for Apple silicon'
      : 'there is no native engine for Macs with Intel processors; the slow reference backend runs there';
  }
  return `the native engine cannot be loaded: ${reason}; reinstall the extension, or run npm run build in its sources`;
}
