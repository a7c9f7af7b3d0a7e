declare module 'node-gyp-build' {
  /** Loads the addon of a package: build/Release/ first, then prebuilds/<platform>-<arch>/. */
  export default function load(folder: string): unknown;
}
