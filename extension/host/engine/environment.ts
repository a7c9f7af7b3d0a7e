/** Variables that put code or a debugger into every program that is started, or name another addon for this one. */
const LOADERS =
  /^(NODE_OPTIONS|NODE_PATH|NODE_REPL_EXTERNAL_MODULE|VSCODE_INSPECTOR_OPTIONS|LD_PRELOAD|LD_AUDIT|DYLD_\w+|ANLLM_PREBUILD)$/i;

/** The environment of the engine's process: the editor's runtime as plain Node, without what would be loaded into it. */
export function childEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = Object.entries(env).filter(([name]) => !LOADERS.test(name));
  return { ...Object.fromEntries(own), ELECTRON_RUN_AS_NODE: '1' };
}
