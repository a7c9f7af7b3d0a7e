// @ts-check
/**
 * Builds what tests share, so that it is there when they run; each of them builds what it lacks. What cannot be built is
 * told here and fails there. usage: builds.mjs
 */
import { crossBuild } from '../scripts/cross-build.mjs';
import { arm64Node, whyNoArm64 } from '../scripts/lib/arm64.mjs';
import { messageOf } from '../scripts/lib/process.mjs';
import {
  buildCounter,
  buildRunner,
  buildSoftAddon,
  buildStandIn,
  canBuild,
} from './metal/build.mjs';

/** @type {readonly { name: string, make: () => Promise<unknown> }[]} the first is what the end-to-end suite waits for */
const builds = [
  { name: 'the addon of the package for linux-x64', make: () => crossBuild('linux-x64') },
  ...(canBuild()
    ? [
        { name: 'the soft device', make: () => buildRunner() },
        { name: 'the addon on the soft device', make: () => buildSoftAddon() },
        { name: 'the addon on the stand-in runtime', make: () => buildStandIn() },
        { name: 'the counter of dispatches', make: () => buildCounter() },
      ]
    : []),
  { name: 'the addon of the package for darwin-arm64', make: () => crossBuild('darwin-arm64') },
  ...(whyNoArm64() === false
    ? [
        { name: 'the addon for linux-arm64', make: () => crossBuild('linux-arm64') },
        { name: 'node for linux-arm64', make: () => arm64Node() },
      ]
    : []),
];

for (const { name, make } of builds) {
  const start = performance.now();
  try {
    await make();
    console.log(`ok     ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  } catch (error) {
    console.log(`FAILED ${name}\n${messageOf(error)}`);
  }
}
